// CI has no Google repository, and compiles the sample by Maven: this file was never run there.

plugins {
    id("com.android.application") version "8.13.0"
    id("org.jetbrains.kotlin.android") version "2.2.21"
}

android {
    namespace = "dev.submitonce.sample"
    compileSdk = 35

    defaultConfig {
        applicationId = "dev.submitonce.sample"
        minSdk = 26
        targetSdk = 35
        versionCode = 1
        versionName = "0.1.0"
    }

    buildTypes {
        release {
            // What it takes to survive shrinking comes with the library.
            isMinifyEnabled = true
            proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"))
        }
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_11
        targetCompatibility = JavaVersion.VERSION_11
    }
}

kotlin {
    compilerOptions {
        jvmTarget = org.jetbrains.kotlin.gradle.dsl.JvmTarget.JVM_11
    }
}

dependencies {
    implementation("dev.submitonce:submit-once:0.1.0")
    // The main thread as a dispatcher.
    implementation("org.jetbrains.kotlinx:kotlinx-coroutines-android:1.10.2")
}
