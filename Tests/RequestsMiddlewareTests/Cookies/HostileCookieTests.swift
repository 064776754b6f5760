import RequestsMiddleware
import TestCorpora
import TestSupport
import Testing

@Suite("Hostile cookies", .serialized, .timeLimit(.minutes(10)))
struct HostileCookieTests {
    private let now = Date(timeIntervalSince1970: 1_000_000_000)

    private func head(_ values: [String], _ url: String = "https://example.com/") throws -> ResponseHead {
        ResponseHead(
            status: 200, header: Header(values.map { Field(name: .setCookie, value: $0) }), target: try TargetURI(url))
    }

    @Test("a value with a control character other than a tab is ignored, wherever it is", .rows("R-40"))
    func controls() throws {
        for byte in (0...0x1F).map(UInt8.init) + [0x7F] {
            let control = String(decoding: [byte], as: UTF8.self)
            for text in [
                "a\(control)b=c", "a=b\(control)c", "a=b; Path=/\(control)", "a=b; x\(control)=y", "a=b;\(control)",
            ] {
                var jar = CookieJar()
                let isStored = jar.store(text, from: try TargetURI("https://example.com/"), at: now)
                #expect(isStored == (byte == 0x09), "\(byte) in \(text.debugDescription)")
            }
        }
    }

    @Test("name and value have at most 4,096 bytes, and an attribute at most 1,024", .rows("R-40"))
    func sizes() throws {
        let target = try TargetURI("https://example.com/")
        func stores(_ text: String) -> CookieJar? {
            var jar = CookieJar()
            return jar.store(text, from: target, at: now) ? jar : nil
        }
        #expect(stores("a=" + String(repeating: "b", count: 4_095)) != nil)
        #expect(stores("a=" + String(repeating: "b", count: 4_096)) == nil)
        #expect(stores(String(repeating: "a", count: 4_097)) == nil)
        let long = "/" + String(repeating: "p", count: 1_024)
        #expect(stores("a=b; Path=\(long)")?.cookies.first?.path == "/")
        #expect(stores("a=b; Path=/x; Path=\(long)")?.cookies.first?.path == "/x")
        #expect(stores("a=b; Path=\(long.dropLast())")?.cookies.first?.path.utf8.count == 1_024)
        #expect(stores("a=b; Domain=\(String(repeating: "d", count: 1_025))")?.cookies.first?.isHostOnly == true)
        // A path of a request that is longer is not taken over.
        var jar = CookieJar()
        jar.store("a=b", from: try TargetURI("https://example.com\(long)/x"), at: now)
        #expect(jar.cookies.first?.path == "/")
    }

    @Test("of 10,000 cookies of one response 50 are stored, and of 10,000 of one host its 50 newest", .rows("R-40"))
    func manyOfOneHost() throws {
        var jar = CookieJar()
        jar.store(try head((0..<10_000).map { "n\($0)=v" }), at: now)
        #expect(jar.cookies.map(\.name) == (0..<50).map { "n\($0)" })
        for number in 0..<10_000 { jar.store(try head(["m\(number)=v"]), at: now + Double(number)) }
        #expect(jar.cookies.map(\.name) == (9_950..<10_000).map { "m\($0)" })
    }

    @Test("of 10,000 hosts the 3,000 cookies remain that were used last, and expired ones go first", .rows("R-40"))
    func manyHosts() throws {
        var jar = CookieJar(publicSuffixes: .conservative)
        for number in 0..<3_000 {
            let life = number == 2_999 ? "; Max-Age=1" : ""
            jar.store(try head(["a=\(number)\(life)"], "https://h\(number).example.com/"), at: now)
        }
        // Used last, so that it remains.
        _ = jar.cookies(for: try TargetURI("https://h0.example.com/"), at: now)
        func has(_ host: String) -> Bool { jar.cookies.contains { $0.domain == "\(host).example.com" } }
        jar.store(try head(["a=b"], "https://new.example.com/"), at: now + 2)
        #expect(jar.count == 3_000 && has("h0") && has("h1") && !has("h2999"))
        _ = jar.cookies(for: try TargetURI("https://h0.example.com/"), at: now + 2)
        jar.store(try head(["a=b"], "https://newer.example.com/"), at: now + 2)
        #expect(jar.count == 3_000 && has("h0") && !has("h1") && has("h2"))
        for number in 3_000..<9_000 { jar.store(try head(["a=b"], "https://h\(number).example.com/"), at: now + 3) }
        #expect(jar.count == 3_000)
        jar.store(try head(["a=b"], "https://last.example.com/"), at: now + 4)
        #expect(jar.count == 3_000 && jar.cookies.last?.domain == "last.example.com")
        #expect(!has("h0") && !has("h2"))
    }

    @Test("beyond the limit of a domain, cookies without Secure go first, then those used longest ago", .rows("R-40"))
    func eviction() throws {
        var jar = CookieJar(limits: .init(countPerDomain: 3))
        for (index, value) in ["s1=v; Secure", "p1=v; Path=/p", "s2=v; Secure", "p2=v", "s3=v; Secure"].enumerated() {
            jar.store(try head([value]), at: now + Double(index))
        }
        #expect(jar.cookies.map(\.name) == ["s1", "s2", "s3"])
        jar.store(try head(["s1=v; Secure; Path=/own"]), at: now + 5)
        #expect(jar.cookies.map(\.name) == ["s2", "s3", "s1"])
        // Only one of them is used, so that the order of use differs from the order of creation.
        jar = CookieJar(limits: .init(countPerDomain: 3))
        for (index, path) in ["/a", "/b", "/c"].enumerated() {
            jar.store(try head(["s\(index)=v; Secure; Path=\(path)"]), at: now + Double(index))
        }
        #expect(jar.cookies(for: try TargetURI("https://example.com/a"), at: now + 9).map(\.name) == ["s0"])
        jar.store(try head(["s3=v; Secure"]), at: now + 10)
        #expect(jar.cookies.map(\.name) == ["s0", "s2", "s3"])
    }

    @Test("a request has at most 150 cookies and a field of 8,190 bytes", .rows("R-40"))
    func requests() throws {
        var jar = CookieJar(limits: .init(countPerDomain: 1_000))
        let target = try TargetURI("https://example.com/")
        for number in 0..<500 { jar.store("n\(number)=v", from: target, at: now) }
        #expect(jar.cookies(for: target, at: now).map(\.name) == (0..<150).map { "n\($0)" })
        jar.removeAll()
        for number in 0..<20 { jar.store("n\(number)=\(String(repeating: "v", count: 1_000))", from: target, at: now) }
        let text = jar.cookies(for: target, at: now).map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
        #expect(text.utf8.count + 8 <= 8_190 && text.utf8.count + 8 + 1_006 > 8_190)
    }

    @Test("limits of zero and below accept nothing and end nothing", .rows("R-40"))
    func zeroLimits() throws {
        for limit in [0, -1, .min] {
            var jar = CookieJar(limits: .init(count: limit))
            jar.store(try head(["a=b"]), at: now)
            #expect(jar.count == 0)
            jar = CookieJar(limits: .init(countPerDomain: limit))
            jar.store(try head(["a=b"]), at: now)
            #expect(jar.count == 0)
            jar = CookieJar(limits: .init(countPerRequest: limit, fieldSize: limit, lifetime: .seconds(limit)))
            jar.store(try head(["a=b", "c=d; Max-Age=9"]), at: now)
            let sent = jar.cookies(for: try TargetURI("https://example.com/"), at: now)
            #expect(sent.isEmpty)
        }
    }

    @Test("delimiters are found even with a combining mark behind them", .rows("R-40"))
    func planted() {
        let target = try? TargetURI("https://www.example.com/a/b")
        let reader = PlantedReader("Set-Cookie", samples: ["n=v; Path=/a; Domain=example.com; x"]) { text in
            guard let target else { return [] }
            var jar = CookieJar(publicSuffixes: .conservative)
            jar.store(text, from: target, at: Date(timeIntervalSince1970: 0))
            return jar.cookies.flatMap { [$0.name, $0.value, $0.path, $0.domain] }
        }
        #expect(reader.differences.isEmpty)
    }

    @Test("bytes that are not UTF-8 are ignored as a whole, and other text is kept", .rows("R-40"))
    func encodings() throws {
        var jar = CookieJar()
        jar.store("é=春", from: try TargetURI("https://example.com/"), at: now)
        #expect(jar.cookies.first?.name == "é" && jar.cookies.first?.value == "春")
    }

    @Test("the time of reading grows with the length of a value only", .rows("R-40"))
    func growth() async throws {
        let target = try TargetURI("https://example.com/")
        for piece in ["; ", ";a=b", "; Path=/x", "=", " ", ";expires=1 2 3 4:5:6 jan ", "; domain=a.b.c"] {
            let ratio = try await Growth.ratio { size in
                let text = "a=b" + String(repeating: piece, count: size)
                return {
                    var jar = CookieJar()
                    jar.store(text, from: target, at: Date(timeIntervalSince1970: 0))
                }
            }
            #expect(ratio <= Growth.limit, "\(piece)")
        }
    }

    @Test("random values neither end the process nor break the rules of a jar", .rows("R-39", "R-40"))
    func mutations() throws {
        let corpus = [
            "a=b; Path=/x; Domain=example.com; Secure; HttpOnly; SameSite=Lax; Max-Age=9",
            "__Host-a=b; Secure; Path=/", "a; Expires=Wed, 09 Jun 2031 10:18:14 GMT", "=x; max-age=-1",
        ].map { Array($0.utf8) }
        let pieces = [
            ";", "=", ".", "; Domain=", "; Path=/", "\t", "\u{0}", "é", "9999999999999999999", "127.0.0.1", "com",
        ]
        .map { Array($0.utf8) }
        var mutator = Mutator(seed: Mutator.seed, corpus: corpus, pieces: pieces)
        var jar = CookieJar(limits: .init(count: 40, countPerDomain: 10), publicSuffixes: .conservative)
        let targets = try ["https://www.example.com/x/y", "http://example.com/", "http://127.0.0.1/", "https://com/"]
            .map { try TargetURI($0) }
        for number in 0..<Mutator.inputs {
            let text = String(decoding: mutator.next(), as: UTF8.self)
            let target = targets[number % targets.count]
            jar.store(text, from: target, at: now + Double(number))
            let sent = jar.cookies(for: target, at: now + Double(number))
            for cookie in sent {
                #expect(!cookie.value.utf8.contains { ($0 < 0x20 && $0 != 9) || $0 == 0x7F || $0 == 0x3B })
                #expect(
                    cookie.domain == target.host || (!cookie.isHostOnly && target.host.hasSuffix("." + cookie.domain)))
                #expect(cookie.domain != "com" || cookie.isHostOnly)
            }
        }
        #expect(jar.count <= 40)
        #expect(Dictionary(grouping: jar.cookies, by: \.domain).values.allSatisfy { $0.count <= 10 })
    }
}
