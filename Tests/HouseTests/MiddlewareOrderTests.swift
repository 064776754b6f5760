import Testing

@Suite("The order of middleware")
struct MiddlewareOrderTests {
    /// The element of the list in `StandardMiddleware` for each name in the drawing.
    private static let elements: [String: String] = [
        "observing(.calls)": "observing(.calls,", "caching": "cache,", "authenticating": "authenticator?",
        "retrying": "retryPolicy.", "hedging": "hedgingDelay.", "breakingCircuit": "circuitBreaker,",
        "limitingRate": "rateLimit,", "limitingConcurrency": "concurrencyLimit,",
        "resumingDownloads": "ResumingDownloads()", "keepingCookies": "cookies.", "coalescing": "coalescesRequests ",
        "collecting": "memoryBudget,", "decodingContent": "ContentDecoding()",
        "observing(.attempts)": "observing(.attempts,", "signing": "signer.",
    ]

    /// The names in the drawing, from the call to the executor, without the middleware that a program adds itself.
    private static func drawing() throws -> [String] {
        let folder = "Sources/RequestsMiddleware/RequestsMiddleware.docc"
        let article = try Repository.here.text(of: "\(folder)/RequestsMiddleware.md")
        let lines = article.split(separator: "\n").filter { line in
            ["─┬─ ", " ├─ ", " └─ "].contains { line.contains($0) }
        }
        return lines.flatMap { line -> [String] in
            // The name and its explanation are at least two spaces apart.
            let text = line.split(separator: "─ ", maxSplits: 1).last ?? ""
            let name = text.split(separator: /\ {2,}/, maxSplits: 1).first ?? ""
            return name.split(separator: ", ").map(String.init)
        }
    }

    @Test("the drawing in the article has the middleware of StandardMiddleware in its order")
    func drawn() throws {
        var names = try Self.drawing()
        #expect(names.last == "executor" && names.dropFirst().first == "your own middleware")
        names.removeAll { $0 == "executor" || $0 == "your own middleware" }
        let source = try Repository.here.text(of: "Sources/RequestsMiddleware/StandardMiddleware.swift")
        let list = try #require(source.firstMatch(of: /let chain: .*? = \[\n([^\]]*?)\n +\]\n/)).1
        // The first one receives a request first, as in the drawing.
        let order = list.split(separator: "\n").map { line in
            let element = line.drop { $0 == " " }
            return Self.elements.filter { element.hasPrefix($0.value) }.map(\.key).joined(separator: " or ")
        }
        #expect(order == names)
        #expect(Set(names) == Set(Self.elements.keys) && names.count == Self.elements.count)
    }

    @Test("the expression in the article adds middleware in the order of the drawing")
    func written() throws {
        let folder = "Sources/RequestsMiddleware/RequestsMiddleware.docc"
        let article = try Repository.here.text(of: "\(folder)/RequestsMiddleware.md")
        let expression = try ReadmeSnippetTests.snippets(of: article).first { $0.contains("let executor =") }
        let added = try #require(expression).split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^ +\.(\w+)\(/).map { String($0.1) }
        }
        #expect(added.count >= 6)
        let names = try Self.drawing().filter(added.contains)
        #expect(Array(added.reversed()) == names)
    }
}
