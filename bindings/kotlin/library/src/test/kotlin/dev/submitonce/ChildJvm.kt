package dev.submitonce

import java.io.File

/** Programs in a JVM of their own: what ends with its process is tried in one that ends. */
object ChildJvm {
    /** Runs a program to its end, and gives what it printed. Fails if it fails. */
    fun run(mainClass: String, vararg arguments: String, options: List<String> = emptyList()): String {
        val process = start(mainClass, *arguments, options = options)
        val printed = process.inputStream.bufferedReader().readText()
        val status = process.waitFor()
        check(status == 0) { "$mainClass ended with $status:\n$printed" }
        return printed
    }

    /** Starts a program. What it prints on standard error goes where this one's does. */
    fun start(mainClass: String, vararg arguments: String, options: List<String> = emptyList()): Process {
        val java = File(System.getProperty("java.home"), "bin/java").path
        val classPath = System.getProperty("surefire.test.class.path") ?: System.getProperty("java.class.path")
        val command = listOf(java, "-cp", classPath) + options + mainClass + arguments
        return ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    }
}
