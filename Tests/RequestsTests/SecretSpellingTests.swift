import Requests
import TestCorpora
import TestSupport
import Testing

/// Secrets repeated in text from outside, in every spelling and next to marks.
@Suite("Secrets in text from outside", .timeLimit(.minutes(10)))
struct SecretSpellingTests {
    private static let token = "hun/ter+2?Ä\"\\x"
    private static let password = "pa:ss/wo+rd&Ö"

    private static func request() throws -> PreparedRequest {
        let query = PercentEncoding.strict.encode(token)
        let userinfo = "vera:" + PercentEncoding.strict.encode(password)
        var request = PreparedRequest(
            method: .post, target: try TargetURI("https://\(userinfo)@e.com/a?api_key=\(query)"),
            header: [
                Field(name: "X-API-Key", value: token), Field(name: .cookie, value: "sid=c00kie-one; sid2=c00kie-two"),
                Field(name: .authorization, value: "Bearer b3arer/token+x=="),
            ])
        request.body = .bytes(Data("hello".utf8))
        return request
    }

    private static func percent(_ text: String, _ isEncoded: (Int) -> Bool, lower: Bool) -> String {
        text.utf8.enumerated().map { index, byte in
            let digits = String(byte, radix: 16, uppercase: !lower)
            if isEncoded(index) || byte >= 0x80 || byte == UInt8(ascii: "%") {
                return "%" + (digits.utf8.count == 1 ? "0" : "") + digits
            }
            return String(UnicodeScalar(byte))
        }.joined()
    }

    private static func json(_ text: String, everyUnit: Bool) -> String {
        text.utf16.map { unit in
            switch unit {
            case 0x22 where !everyUnit, 0x5C where !everyUnit, 0x2F where !everyUnit:
                return "\\" + String(UnicodeScalar(UInt8(unit)))
            case 0x20..<0x80 where !everyUnit: return String(UnicodeScalar(UInt8(unit)))
            default:
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            }
        }.joined()
    }

    /// Returns the spellings of `secret`, none of which may be printed.
    private static func spellings(of secret: String) -> [String] {
        let isSpecial = { (index: Int) in !Token.isTokenByte(Array(secret.utf8)[index]) }
        let encodings = [false, true].flatMap { lower in
            [isSpecial, { _ in true }, { $0 % 2 == 0 }].map { percent(secret, $0, lower: lower) }
        }
        let escapes = [json(secret, everyUnit: false), json(secret, everyUnit: true)]
        let twice = encodings.map { percent($0, { _ in false }, lower: true) }
        let nested = escapes.flatMap { [json($0, everyUnit: false), json($0, everyUnit: true)] }
        let escapedInQueries = escapes.map { percent($0, { _ in true }, lower: false) }
        return [secret] + encodings + escapes + twice + encodings.map { json($0, everyUnit: true) } + nested
            + escapedInQueries
    }

    private static let secrets: [String] = {
        let basic = Data("vera:\(password)".utf8).base64EncodedString()
        let url = String(basic.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
        return [token, password, basic, url, "c00kie-one", "c00kie-two", "b3arer/token+x==", "b3arer_token-x"]
    }()

    @Test(
        "a secret is redacted in every spelling, whatever marks surround it", .rows("R-8"),
        arguments: secrets.indices)
    func spelled(index: Int) throws {
        let request = try Self.request()
        let spellings = Self.spellings(of: Self.secrets[index])
        for mark in Marks.behind.prefix(4) + ["", "\r\n", "\"", "€"] {
            let text = "a\(mark)" + spellings.joined(separator: "\(mark) \(mark)") + "\(mark)b"
            let error = RequestError(
                .connectionFailed, detail: text, underlying: Talkative(description: text), request: request,
                response: ResponseHead(
                    status: 400, header: [Field(name: .contentType, value: text)], target: request.target))
            var echo = request
            echo.header.add(Field(name: "X-Echo", value: text))
            echo.body = .bytes(Data(text.utf8))
            let texts = mark.isEmpty ? everyText(of: error) + [echo.curlCommand()] : [String(reflecting: error)]
            for shown in texts + [echo.wireText] {
                for spelling in spellings { #expect(!Marks.holds(shown, spelling), "\(shown)") }
                #expect(Marks.holds(shown, Redaction.placeholder))
            }
        }
        for spelling in spellings {
            let text = "a\u{301}\(spelling)\u{200D}b"
            let error = RequestError(.decodingFailed, request: request, body: Data(text.utf8))
            #expect(!Marks.holds(String(reflecting: error), spelling), "\(error.debugDescription)")
            var echo = request
            echo.body = .bytes(Data(text.utf8))
            #expect(!Marks.holds(echo.curlCommand(), spelling), "\(echo.curlCommand())")
            #expect(Marks.holds(echo.wireText(secrets: .revealed), spelling))
        }
    }

    private struct Talkative: Error, CustomStringConvertible {
        let description: String
    }

    @Test("no part of a secret is printed if the excerpt or the body truncates it", .rows("R-8"))
    func cut() throws {
        let request = try Self.request()
        let secret = "b3arer/token+x=="
        for start in 180...203 {
            let body = Data((String(repeating: "a", count: start) + secret + "TTTT").utf8)
            let shown = String(reflecting: RequestError(.decodingFailed, request: request, body: body))
            #expect(!Marks.holds(shown, "b3ar"), "\(shown)")
            let isCut = Marks.holds(shown, "a…")
            #expect(isCut == (start >= 200))
        }
        for end in ["hun%2f%", "hun%2fter\\u00", "hun/ter\\", "h\\u0075n\\/t%"] {
            let shown = String(reflecting: RequestError(.decodingFailed, request: request, body: Data(end.utf8)))
            #expect(!Marks.holds(shown, "hun") && !Marks.holds(shown, "u0075"), "\(shown)")
        }
        for length in SecretFinder.shortestBeginning..<secret.utf8.count {
            let body = Data(("x" + secret.prefix(length)).utf8)
            let shown = String(reflecting: RequestError(.decodingFailed, request: request, body: body))
            #expect(!Marks.holds(shown, "b3ar"), "\(shown)")
        }
    }

    @Test("the line of a decoding error is omitted if a secret overlaps it", .rows("R-8"))
    func caret() throws {
        struct Item: Decodable { let id: Int }
        let request = try Self.request()
        for padding in [0, 40, 50, 55, 70, 200] {
            for isBefore in [true, false] {
                let filler = String(repeating: "x", count: padding)
                let (before, after) = isBefore ? ("b3arer/token+x==" + filler, "") : ("", filler + "b3arer/token+x==")
                let body = Data(#"{"a": "\#(before)", "id": "\#(after)"}"#.utf8)
                let cause = #expect(throws: DecodingError.self) {
                    try JSONDecoder().decode(Item.self, from: body)
                }
                let shown = String(
                    reflecting: RequestError(.decodingFailed, underlying: cause, request: request, body: body))
                #expect(!Marks.holds(shown, "b3ar") && !Marks.holds(shown, "en+x"), "\(shown)")
            }
        }
    }

    @Test("a body's excerpt consists of whole scalars, wherever it is truncated", .rows("R-8"))
    func scalars() throws {
        for text in ["é", "€", "😀"] {
            for offset in 0..<8 {
                let body = Data((String(repeating: "a", count: offset) + String(repeating: text, count: 120)).utf8)
                let shown = String(reflecting: RequestError(.other, body: body))
                #expect(!Marks.holds(shown, "\u{FFFD}") && Marks.holds(shown, text + "…"), "\(shown)")
            }
        }
        let wrong = Data(Array(repeating: 0x61, count: 50) + [0xC3, 0x28] + Array(repeating: 0x61, count: 300))
        #expect(Marks.holds(String(reflecting: RequestError(.other, body: wrong)), "binary data"))
    }

    @Test("the error for an invalid path does not contain its secrets", .rows("R-8"))
    func details() {
        for path in ["/a?token=hunter2", "/a?x=1&token=hunter2#b", "/a#access_token=hunter2"] {
            let error = #expect(throws: RequestError.self) {
                try AnonymousRequestProvider.example.get(.text, from: RequestPath(path)).prepared()
            }
            for shown in error.map(everyText(of:)) ?? [] { #expect(!Marks.holds(shown, "hunter2"), "\(shown)") }
        }
        let references = [
            "//u:hunter2@/x", "//h:x/?token=hunter2", "//u:a/hunter2@h:x/", "//u:a?hunter2@h:x/", "u:hunter2@h",
        ]
        for reference in references {
            let error = #expect(throws: RequestError.self) {
                try AnonymousRequestProvider.example.get(.text, from: .reference(reference)).prepared()
            }
            for shown in error.map(everyText(of:)) ?? [] { #expect(!Marks.holds(shown, "hunter2"), "\(shown)") }
        }
    }

    @Test("secrets in a fragment are redacted", .rows("R-8"))
    func fragment() throws {
        let target = try TargetURI("https://e.com/#a=b&access_token=hunter2")
        #expect("\(target)" == "https://e.com/#a=b&access_token=<redacted>")
    }

    /// The orders in which a text can be encoded, each kind at most twice.
    private static let orders: [[Encoding]] = {
        var orders: [[Encoding]] = [[]]
        var index = 0
        while index < orders.count {
            for encoding in [Encoding.percent, .json] where orders[index].count(where: { $0 == encoding }) < 2 {
                orders.append(orders[index] + [encoding])
            }
            index += 1
        }
        return orders
    }()

    private enum Encoding { case percent, json }

    @Test("a secret is redacted exactly once in every order of encodings, also after backslashes", .rows("R-8"))
    func orders() {
        var generator = SplitMix64(state: 9)
        let alphabet = Array("abtunr05CcuU\"\\/+%=\tÄ{€".unicodeScalars)
        let random = (0..<6).map { _ in
            let scalars = (0..<Int.random(in: 6...24, using: &generator)).compactMap { _ in
                alphabet.randomElement(using: &generator)
            }
            return String(String.UnicodeScalarView(scalars))
        }
        #expect(Self.orders.count == 19)
        for secret in Self.secrets + random + ["tOk3n-AbC/d+e\"q==", "\\tabc\"", "\"q/uote"] {
            let finder = SecretFinder([secret])
            let cases = Self.orders.map { ($0, false) } + Self.orders.filter { $0.count <= 3 }.map { ($0, true) }
            for (order, isWhole) in cases {
                let spelled = order.reduce(secret) { text, encoding in
                    switch encoding {
                    case .percent:
                        let bytes = Array(text.utf8)
                        return Self.percent(text, { isWhole || !Token.isTokenByte(bytes[$0]) }, lower: isWhole)
                    case .json: return Self.json(text, everyUnit: isWhole)
                    }
                }
                // A backslash before more than two complete encodings may hide where the secret begins.
                let befores = isWhole && order.count > 2 ? [""] : ["", "\\", "\\\\", "\\\\\\"]
                for before in befores {
                    let shown = finder.redacted("<\(before)\(spelled)>")
                    let parts = shown.components(separatedBy: Redaction.placeholder)
                    // Encoded backslashes before the secret may remain.
                    let remainder = PercentEncoding.decode(PercentEncoding.decode(parts[0])).utf8.dropFirst()
                    let isExact = parts.count == 2 && parts[1] == ">" && remainder.allSatisfy { $0 == 0x5C }
                    #expect(isExact, "\(secret.debugDescription), \(order), \(before)\(spelled) shown as \(shown)")
                }
            }
        }
    }

    @Test("secrets in JSON inside JSON, in percent-encoded JSON and after a backslash are redacted", .rows("R-8"))
    func nested() throws {
        let secret = "tOk3n-AbC/d+e\"q=="
        let header: Header = [Field(name: "X-API-Key", value: secret)]
        for body in [
            #"\\u0074Ok3n-AbC/d+e\"q=="#, #"{"m":"{\"a\":\"tOk3n-AbC/d+e\\\"q==\"}"}"#,
            "tOk3n-AbC%2Fd%2Be%5C%22q%3D%3D", #"C:\tOk3n-AbC/d+e\"q=="#,
        ] {
            let request = PreparedRequest(
                method: .post, target: try TargetURI("http://e.com/"), header: header, body: .bytes(Data(body.utf8)))
            let error = RequestError(.decodingFailed, request: request, body: Data(body.utf8))
            for shown in everyText(of: error) + [request.curlCommand(), request.wireText] {
                #expect(!Marks.holds(shown, "Ok3n") && !Marks.holds(shown, "AbC"), "\(shown)")
            }
        }
    }

    @Test("the time to find secrets is proportional to the length of the text", .rows("R-8"))
    func growth() async throws {
        let finder = SecretFinder(["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "%41%41%41%41", "\\u0041\\u0041"])
        let ratio = try await Growth.ratio(size: 1_000) { count in
            let text = String(repeating: "a", count: count) + String(repeating: "%41", count: count)
            return { _ = finder.redacted(text) }
        }
        #expect(ratio <= Growth.limit)
    }

    @Test(
        "the time to find secrets is proportional to the number of escapes", .rows("R-8", "R-71"),
        arguments: [
            "\\", "\\\\u0061", "\\u005c", "%5c", "%25", "%2525", "\\\"", "\\u0025", "\\u005cu0061", "%5Cu0061", "a\\a",
            "\\u0025\u{35}c", "\\\\\\\"", "\\t", "\\\\\\\\x",
        ])
    func escapeGrowth(unit: String) async throws {
        let finder = SecretFinder(["aaaaaaaaaaaaaaab", "\\\\\\\\\\b", "%25%25%5c", "secret"])
        let ratio = try await Growth.ratio { size in
            let text = String(repeating: unit, count: size / unit.utf8.count)
            return { _ = finder.redacted(text) }
        }
        #expect(ratio <= Growth.limit)
    }
}
