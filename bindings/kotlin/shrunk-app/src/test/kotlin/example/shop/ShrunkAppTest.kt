package example.shop

import com.sun.net.httpserver.HttpServer
import java.io.File
import java.net.InetAddress
import java.net.InetSocketAddress
import java.nio.file.Path
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.TimeUnit
import java.util.zip.ZipFile
import kotlin.io.path.createDirectory
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertNotEquals
import kotlin.test.assertFalse
import org.junit.jupiter.api.io.TempDir

/**
 * The release build of an app: shrunk, and with new names, by the rules that come with the archive
 * and one rule of its own.
 */
class ShrunkAppTest {
    @TempDir
    lateinit var folder: Path

    private val requests = CopyOnWriteArrayList<String>()
    private val server = HttpServer.create(InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0)

    init {
        server.createContext("/orders") { exchange ->
            exchange.requestBody.readBytes()
            requests += exchange.requestHeaders.getFirst("Authorization")
            exchange.sendResponseHeaders(201, -1)
            exchange.close()
        }
        server.start()
    }

    @AfterTest
    fun stop() = server.stop(0)

    @Test
    fun `the shrunk app still submits`() {
        val app = shrink(consumerRules)
        val names = ZipFile(app).use { zip -> zip.entries().asSequence().map { it.name }.toSet() }
        assertFalse("dev/submitonce/Outbox.class" in names, "nothing was renamed")

        val run = run(app)
        assertEquals(0, run.status, run.output)
        assertEquals("reused: true\nstatus: 201\n", run.output)
        assertEquals(listOf("Bearer secret"), requests)
    }

    @Test
    fun `without the rules it doesn't`() {
        // An app can't be shrunk at all with classes missing; that much somebody adds in a hurry.
        failsToLoad(shrink("-dontwarn java.awt.**"))
    }

    @Test
    fun `without the rule for the bindings it doesn't`() {
        val rule = "-keep class dev.submitonce.internal.** { *; }"
        assertContains(consumerRules, rule)
        failsToLoad(shrink(consumerRules.replace(rule, "")))
    }

    private fun failsToLoad(app: File) {
        val run = run(app)
        assertNotEquals(0, run.status, run.output)
        assertContains(run.output, "the native library could not be loaded")
        assertEquals(emptyList(), requests)
    }

    private class Run(val status: Int, val output: String)

    private fun shrink(libraryRules: String): File {
        val shrunk = folder.resolve("shrunk.jar").toFile()
        val shipped = classPath.filter { file -> shippedPlaces.any { it in file.path } }
        val configuration = folder.resolve("app.pro").toFile()
        configuration.writeText(
            buildString {
                for (file in shipped) {
                    // Signatures don't survive, and modules are for desktop Java.
                    appendLine("-injars '$file'(!META-INF/*.SF,!**module-info.class)")
                }
                appendLine("-outjars '$shrunk'")
                // Without java.desktop: Android has no windows either.
                for (module in listOf("java.base", "java.logging")) {
                    appendLine("-libraryjars '$javaHome/jmods/$module.jmod'(!**.jar;!module-info.class)")
                }
                appendLine("-repackageclasses 'a'")
                // ProGuard's optimiser breaks coroutines (VerifyError); that isn't what is tested.
                appendLine("-dontoptimize")
                appendLine("-keep class example.shop.MainKt { public static void main(java.lang.String[]); }")
                // Which coroutines use, and Android has.
                appendLine("-dontwarn android.annotation.SuppressLint")
                appendLine(coroutinesRules)
                appendLine(libraryRules)
            },
        )
        val run = java("-cp", classPath.joinToString(File.pathSeparator), "proguard.ProGuard", "@$configuration")
        assertEquals(0, run.status, run.output)
        return shrunk
    }

    private fun run(app: File): Run {
        val address = "http://127.0.0.1:${server.address.port}"
        val place = folder.resolve("outbox").createDirectory()
        return java("-cp", "$app", "example.shop.MainKt", address, "$place/outbox.sqlite3")
    }

    private fun java(vararg arguments: String): Run {
        val output = folder.resolve("output.txt").toFile()
        val process = ProcessBuilder("$javaHome/bin/java", *arguments)
            .redirectErrorStream(true)
            .redirectOutput(output)
            .start()
        if (!process.waitFor(5, TimeUnit.MINUTES)) {
            process.destroyForcibly()
            error("still running: ${output.readText()}")
        }
        return Run(process.exitValue(), output.readText())
    }

    private companion object {
        val javaHome: String = System.getProperty("java.home")

        val classPath = System.getProperty("java.class.path").split(File.pathSeparator).map(::File)

        /** What the app is made of; the rest of the class path is for this test. */
        val shippedPlaces = listOf(
            "/shrunk-app/target/classes",
            "/library/target/",
            "/net/java/dev/jna/",
            "/org/jetbrains/annotations/",
            "/kotlin-stdlib/",
            "/kotlinx-coroutines-core-jvm/",
        )

        val consumerRules = File("../consumer-rules.pro").readText()

        /** R8 takes these out of the jar by itself. */
        val coroutinesRules = classPath
            .first { "/kotlinx-coroutines-core-jvm/" in it.path }
            .let { jar ->
                ZipFile(jar).use { zip ->
                    val entry = zip.getEntry("META-INF/com.android.tools/proguard/coroutines.pro")
                    zip.getInputStream(entry).readBytes().decodeToString()
                }
            }
    }
}
