// The same archive by Gradle, for publishing and for people who build with it. CI has no Google
// repository and runs build-aar.sh instead: this file was never run there.

plugins {
    id("com.android.library") version "8.13.0"
    id("org.jetbrains.kotlin.android") version "2.2.21"
    `maven-publish`
}

group = "dev.submitonce"
version = "0.1.0"

val nativeLibraries = providers.exec {
    commandLine("cargo", "metadata", "--no-deps", "--format-version", "1")
}.standardOutput.asText.map { metadata ->
    val folder = Regex("\"target_directory\":\"([^\"]*)\"").find(metadata)!!.groupValues[1]
    "$folder/aar/jniLibs"
}

android {
    namespace = "dev.submitonce.android"
    compileSdk = 35

    defaultConfig {
        minSdk = 26
        // Into the archive as proguard.txt, for debug builds too.
        consumerProguardFiles("consumer-rules.pro")
    }

    sourceSets {
        named("main") {
            kotlin.srcDirs("library/src/generated/kotlin", "library/src/main/kotlin", "android/src/main/kotlin")
            manifest.srcFile("android/src/main/AndroidManifest.xml")
            jniLibs.srcDir(nativeLibraries)
        }
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_11
        targetCompatibility = JavaVersion.VERSION_11
    }

    publishing {
        singleVariant("release") {
            withSourcesJar()
        }
    }
}

kotlin {
    compilerOptions {
        jvmTarget = org.jetbrains.kotlin.gradle.dsl.JvmTarget.JVM_11
        languageVersion = org.jetbrains.kotlin.gradle.dsl.KotlinVersion.KOTLIN_2_1
        apiVersion = org.jetbrains.kotlin.gradle.dsl.KotlinVersion.KOTLIN_2_1
    }
}

dependencies {
    // Flows, coroutines and workers are part of the API.
    api("org.jetbrains.kotlinx:kotlinx-coroutines-core:1.10.2")
    api("androidx.work:work-runtime-ktx:2.11.0")
    // As an archive, in the POM too: the jar has libraries for desktops, and none for phones.
    implementation("net.java.dev.jna:jna:5.18.1@aar")
}

// One script builds native libraries, for Gradle too: the flags are in one place.
val buildNative by tasks.registering(Exec::class) {
    description = "Builds the native libraries for phones, and their symbols."
    commandLine("./build-aar.sh", "--native-only")
}

tasks.named("preBuild") {
    dependsOn(buildNative)
}

publishing {
    publications {
        register<MavenPublication>("release") {
            artifactId = "submit-once"
            afterEvaluate { from(components["release"]) }
            pom {
                name = "submit-once"
                description = "Durable submissions, stable idempotency keys, one effect and one result."
                licenses {
                    license { name = "MIT" }
                    license { name = "Apache-2.0" }
                }
            }
        }
    }
}
