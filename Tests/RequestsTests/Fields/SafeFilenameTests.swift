import Requests
import TestCorpora
import TestSupport
import Testing

@Suite("Safe filenames")
struct SafeFilenameTests {
    private func safe(_ name: String) -> String? {
        var disposition = ContentDisposition("attachment")
        disposition.parameters["filename"] = name
        return disposition.safeFilename
    }

    @Test(
        "control characters, direction marks and leading dots are removed, and empty names are rejected", .rows("R-75"),
        arguments: [
            ("a\u{0}b\u{1}\u{7F}\u{85}.txt", "ab.txt"), ("\u{0}", nil), ("evil\u{202E}gpj.exe", "evilgpj.exe"),
            ("a\u{2066}b\u{2069}c\u{200F}\u{61C}", "abc"), ("a\u{2028}b\u{2029}", "ab"), ("a\u{FFFF}", "a"),
            (".", nil), ("..", nil), ("...", nil), (". .", nil), (".profile", "profile"), ("..\u{301}x", "x"),
            (" ", nil), (" \u{A0}\u{3000}\t", nil), ("\u{301}", nil), ("\u{200B}\u{FEFF}\u{AD}", nil),
            (" a b \u{A0}", "a b"), ("", nil), ("a/", nil), ("a\\", nil), ("C:\\x\\y.txt", "y.txt"),
            ("\u{0}../\u{0}a", "a"), ("..\u{0}/..", nil),
            ("e\u{301}\u{1F468}\u{200D}\u{1F4BB}.txt", "e\u{301}\u{1F468}\u{200D}\u{1F4BB}.txt"),
        ] as [(String, String?)])
    func cleaning(name: String, expected: String?) {
        #expect(safe(name).map { Array($0.utf8) } == expected.map { Array($0.utf8) })
    }

    @Test("a long name is truncated to 240 bytes between characters and keeps its extension", .rows("R-75"))
    func lengths() throws {
        let long = String(repeating: "é", count: 1_000)
        let name = try #require(safe(long + ".tar.gz"))
        #expect(name.utf8.count <= 240 && name.hasSuffix("é.gz") && name.utf8.count > 230)
        #expect(safe(String(repeating: "a", count: 300))?.utf8.count == 240)
        #expect(safe("a." + String(repeating: "b", count: 300))?.utf8.count == 240)
        #expect(safe(String(repeating: "a", count: 240))?.utf8.count == 240)
        let stacked = try #require(safe("a" + String(repeating: "\u{301}", count: 1_000)))
        #expect(stacked.utf8.count <= 240 && stacked.utf8.count > 200)
        #expect(safe(String(repeating: "x/", count: 10_000) + "y") == "y")
    }

    @Test("a truncated name does not end in white space, before its extension or without one", .rows("R-75"))
    func truncatedBlanks() throws {
        for blank in [" ", "\u{A0}", "\u{3000}", " \u{2003} "] {
            for padding in 200...245 {
                let stem = String(repeating: "a", count: padding) + String(repeating: blank, count: 50) + "b"
                let name = try #require(safe(stem + String(repeating: "b", count: 300)))
                #expect(name.utf8.count <= 240 && name.unicodeScalars.last?.properties.isWhitespace == false)
                let text = try #require(safe(stem + ".txt"))
                let isBlank = text.unicodeScalars.dropLast(4).last?.properties.isWhitespace
                #expect(text.utf8.count <= 240 && text.hasSuffix(".txt") && isBlank == false)
            }
        }
        #expect(safe("a" + String(repeating: " ", count: 300) + ".txt") == "a.txt")
    }

    @Test("any name from a peer becomes one visible path component or nil", .rows("R-71", "R-75"))
    func hostile() {
        var generator = SplitMix64(state: 6266)
        let alphabet = Array("./\\ a\u{0}\u{7F}\u{301}\u{200D}\u{202E}\u{FE0F}é\u{1F468}\t~:".unicodeScalars)
        for _ in 0..<5_000 {
            let scalars = (0..<Int.random(in: 0...300, using: &generator)).compactMap { _ in
                alphabet.randomElement(using: &generator)
            }
            guard let name = safe(String(String.UnicodeScalarView(scalars))) else { continue }
            #expect(!name.isEmpty && name.utf8.count <= 240 && name.utf8.first != UInt8(ascii: "."))
            #expect(name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0x2F && $0 != 0x5C })
            #expect(name.unicodeScalars.last?.properties.isWhitespace == false)
        }
    }
}
