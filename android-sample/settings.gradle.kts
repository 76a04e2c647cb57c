// For people with Google's Maven repository.
pluginManagement {
    repositories {
        google()
        mavenCentral()
        gradlePluginPortal()
    }
}

dependencyResolutionManagement {
    repositories {
        google()
        mavenCentral()
    }
}

rootProject.name = "field-orders"

// The library from its sources, native part included.
includeBuild("../bindings/kotlin")
