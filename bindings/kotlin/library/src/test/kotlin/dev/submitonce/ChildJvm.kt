package dev.submitonce

import java.io.File
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit

/** Programs in a JVM of their own: what ends with its process is tried in one that ends. */
object ChildJvm {
    /**
     * Runs a program to its end, and gives what it printed. Fails if it fails; and if it hasn't ended
     * after [minutes], many times what it takes, with what each of its threads was at.
     */
    fun run(
        mainClass: String,
        vararg arguments: String,
        options: List<String> = emptyList(),
        minutes: Long = 15,
    ): String {
        val process = start(mainClass, *arguments, options = options)
        val printed = CompletableFuture.supplyAsync { process.inputStream.bufferedReader().readText() }
        val ended = process.waitFor(minutes, TimeUnit.MINUTES)
        if (!ended) {
            // A JVM answers the signal with a list of its threads.
            ProcessBuilder("kill", "-QUIT", process.pid().toString()).start().waitFor()
            process.waitFor(10, TimeUnit.SECONDS)
            process.destroyForcibly()
        }
        val text = printed.get(1, TimeUnit.MINUTES)
        check(ended) { "$mainClass hasn't ended after $minutes minutes:\n$text" }
        check(process.exitValue() == 0) { "$mainClass ended with ${process.exitValue()}:\n$text" }
        return text
    }

    /** Starts a program. What it prints on standard error goes where this one's does. */
    fun start(mainClass: String, vararg arguments: String, options: List<String> = emptyList()): Process {
        val java = File(System.getProperty("java.home"), "bin/java").path
        val classPath = System.getProperty("surefire.test.class.path") ?: System.getProperty("java.class.path")
        val command = listOf(java, "-cp", classPath) + options + mainClass + arguments
        return ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    }
}
