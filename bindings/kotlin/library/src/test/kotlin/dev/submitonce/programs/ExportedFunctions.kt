package dev.submitonce.programs

import org.w3c.dom.Element
import java.io.File
import javax.xml.parsers.DocumentBuilderFactory
import kotlin.system.exitProcess

/**
 * Lists every function that the Rust library exports, with whether the tests called it; fails if one
 * was not. The functions are read from the generated bindings, the calls from JaCoCo's report.
 * Arguments: the generated file, the report, the list to write.
 */
fun main(arguments: Array<String>) {
    val (generated, report, list) = arguments.map(::File)
    val exported = exportedFunctions(generated.readText())
    val called = calledFunctions(report)
    val missing = exported - called
    list.writeText(
        buildString {
            appendLine("# Exported functions, and whether the Kotlin tests called them")
            appendLine()
            exported.sorted().forEach { appendLine("- [${if (it in called) "x" else " "}] `$it`") }
        },
    )
    println("exported functions: ${exported.size}, called by the tests: ${exported.size - missing.size} ($list)")
    if (exported.size < 30 || missing.isNotEmpty()) {
        System.err.println("never called: ${missing.sorted().joinToString()}")
        exitProcess(1)
    }
}

private val objects = listOf("Outbox", "Inbox", "Batch")

/** `Outbox.submit`, `newSubmissionId` and so on, by the names of the C functions behind them. */
private fun exportedFunctions(generated: String): Set<String> {
    val renamed = mapOf("Outbox.close" to "Outbox.shutdown")
    val kinds = Regex("""fun uniffi_submit_once_fn_(method|constructor|func)_(\w+)\(""")
    return kinds.findAll(generated).map { it.destructured }.map { (kind, name) ->
        when (kind) {
            "func" -> camelCase(name)
            // These objects have functions; the others are listeners, which the app writes.
            else -> objects.find { name.startsWith("${it.lowercase()}_") }
                ?.let { "$it." + camelCase(name.removePrefix("${it.lowercase()}_")) }
        }
    }.filterNotNull().map { renamed[it] ?: it }.toSet()
}

private fun camelCase(snake: String) =
    snake.split('_').mapIndexed { n, word -> if (n == 0) word else word.replaceFirstChar { it.uppercase() } }
        .joinToString("")

private fun calledFunctions(report: File): Set<String> {
    val factory = DocumentBuilderFactory.newInstance()
    // The report names a document type that is not there.
    factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false)
    val classes = factory.newDocumentBuilder().parse(report).getElementsByTagName("class").elements()
    return classes.flatMap { type ->
        val name = type.getAttribute("name").removePrefix("dev/submitonce/internal/")
        val prefix = when (val outer = name.removeSuffix("\$Companion")) {
            in objects -> "$outer."
            "Submit_onceKt" -> ""
            else -> return@flatMap emptyList()
        }
        type.getElementsByTagName("method").elements()
            .filter { method -> method.covered > 0 }
            // Functions with unsigned numbers have a suffix, and suspending ones another.
            .map { prefix + it.getAttribute("name").substringBefore('-').removeSuffix("\$suspendImpl") }
    }.toSet()
}

private val Element.covered: Int
    get() = getElementsByTagName("counter").elements()
        .filter { it.getAttribute("type") == "INSTRUCTION" }
        .sumOf { it.getAttribute("covered").toInt() }

private fun org.w3c.dom.NodeList.elements() = (0 until length).map { item(it) as Element }
