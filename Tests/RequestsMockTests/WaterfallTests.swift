import Foundation
import RequestsMock
import TestSupport
import Testing

/// Returns an exchange with a response of 200 and the text `body`, `seconds` after the first one.
private func exchange(
    _ url: String, _ body: String = "", method: HTTPMethod = .get, at seconds: Double = 0
) -> HARArchive.Entry {
    HARArchive.Entry(
        startedAt: Date(timeIntervalSince1970: 1_700_000_000 + seconds), method: method, url: url, status: 200,
        responseHeader: [.contentType(.plainText)],
        responseBody: HARArchive.Content(mediaType: "text/plain", data: Data(body.utf8)))
}

@Suite("Waterfalls", .serialized, .timeLimit(.minutes(10)))
struct WaterfallTests {
    private var archive: HARArchive {
        var first = exchange("https://a.test/<script>?token=secret", "{}")
        first.timings.lookup = .milliseconds(10)
        first.timings.connect = .milliseconds(30)
        first.timings.tls = .milliseconds(20)
        first.timings.send = .milliseconds(5)
        first.timings.wait = .milliseconds(40)
        first.timings.receive = .milliseconds(15)
        first.requestHeader = [.authorization("secret"), Field(name: "X", value: "a\"b'c&d")]
        var second = exchange("https://a.test/\u{1B}[31m", method: .post, at: 0.05)
        second.status = nil
        second.comment = "failed: the connection to https://a.test/?token=secret was lost"
        second.requestHeader = [Field(name: "Referer", value: "https://user:secret@a.test/")]
        second.responseHeader = [Field(name: .location, value: "https://a.test/#access_token=secret")]
        second.timings.wait = .milliseconds(50)
        return HARArchive(entries: [first, second])
    }

    @Test("the page is one file without scripts, links, secrets or raw markup")
    func page() throws {
        let page = archive.waterfallHTML
        for text in ["<script", "src=", "href=", "url(", "@import", "secret", "\u{1B}"] {
            #expect(!page.contains(text))
        }
        for text in [
            "prefers-color-scheme: dark", "lang=\"en\"", "<caption>", "scope=\"col\"", "scope=\"row\"", "<summary>",
            "role=\"img\" aria-label=\"lookup 10.0 ms, connect 10.0 ms, tls 20.0 ms, send 5.0 ms, wait 40.0 ms, receive 15.0 ms\"",
            "default-src 'none'", "a&quot;b&#39;c&amp;d", "left:10.00%;width:10.00%",
        ] { #expect(page.contains(text), "\(text)") }
        let empty = HARArchive().waterfallHTML
        #expect(empty.contains("0 exchanges in 0.0 ms"))
    }

    @Test("impossible durations and dates are limited in every form of the archive")
    func extremes() throws {
        let durations: [Duration] = [
            .seconds(Int64.max), .seconds(Int64.min), .seconds(Int64(1) << 50), .nanoseconds(-1),
        ]
        let dates: [Date] = [.distantFuture, .distantPast, Date(timeIntervalSince1970: 1e18)]
        for duration in durations {
            for date in dates {
                var entry = exchange("https://a.test/")
                entry.startedAt = date
                entry.timings.connect = duration
                (entry.timings.tls, entry.timings.wait, entry.timings.receive) = (duration, duration, duration)
                let archive = HARArchive(entries: [exchange("https://a.test/"), entry])
                #expect(archive.waterfallHTML.contains("2 exchanges in "))
                #expect(archive.waterfallText().hasPrefix("2 exchanges in "))
                let timings = try JSONValue(parsing: archive.json)["log", "entries", 1, "timings"]
                let expected = duration < .zero ? 0 : 31_536_000_000
                #expect(timings?["wait"]?.int == expected && timings?["ssl"]?.int == expected)
                #expect(entry.timings.total == .milliseconds(3 * expected))
            }
        }
    }

    @Test("text of an imported archive is never markup, and has no control characters")
    func injection() {
        let text =
            "</script><script>alert(1)</script><img src=x onerror=\"a('b')\">&amp;\u{0}\u{1B}[2J\u{202E}\u{85}\r\n"
        var entry = HARArchive.Entry(
            startedAt: Date(timeIntervalSince1970: 0), method: HTTPMethod(text), url: "https://a.test/\(text)",
            requestHeader: [Field(name: Field.Name(text), value: text)], status: nil, comment: text)
        entry.responseBody.mediaType = text
        let archive = HARArchive(entries: [entry])
        let page = archive.waterfallHTML
        for part in ["<script", "</script", "<img", "onerror=\"", "&amp;amp;\u{0}"] { #expect(!page.contains(part)) }
        #expect(page.contains("&lt;/script&gt;") && page.contains("onerror=&quot;a(&#39;b&#39;)&quot;"))
        let isControl = { (scalar: Unicode.Scalar) in
            scalar != "\n" && (scalar.properties.generalCategory == .control || scalar == "\u{202E}")
        }
        #expect(!page.unicodeScalars.contains(where: isControl))
        #expect(!archive.waterfallText().unicodeScalars.contains(where: isControl))
    }

    @Test("the waterfall for terminals has this text")
    func terminal() {
        #expect(
            archive.waterfallText(width: 80) == """
                2 exchanges in 100.0 ms
                . blocked  d lookup  c connect  t tls  s send  - wait  = receive
                …t/<script>?token=<redacted> 200  100.0 ms |dddccctttttttss-------------======
                POST https://a.test/ [31m    ---   50.0 ms |                 -----------------

                """)
    }

    @Test(
        "a browser without a window shows the page",
        .enabled(if: HeadlessBrowser.path != nil, "no headless browser is installed"))
    func browser() throws {
        let folder = TemporaryDirectory()
        try folder.write(archive.waterfallHTML.utf8, to: "waterfall.html")
        let text = try HeadlessBrowser.document(of: URL(filePath: folder.path(of: "waterfall.html")))
        #expect(text.contains("Exchanges in the order in which they began"))
        #expect(text.components(separatedBy: "<tr>").count == 4)
    }
}

/// A browser that prints the document of a page.
private enum HeadlessBrowser {
    static let path: String? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let names = ["chromium", "chromium-browser", "google-chrome", "chrome", "microsoft-edge"]
        let paths =
            names.flatMap { name in folders.map { "\($0)/\(name)" } }
            + ["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"]
        return paths.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    static func document(of file: URL) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: path ?? "")
        process.arguments = ["--headless", "--disable-gpu", "--no-sandbox", "--dump-dom", file.absoluteString]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // A browser that does not exit must not block the tests.
        let end = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + 120, execute: end)
        defer { end.cancel() }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}
