import TestCorpora

/// A generator of random well-formed documents, which are the same for the same seed.
struct XMLGenerator {
    private var random: SplitMix64
    private var prefixes: [String] = []

    init(seed: UInt64) { random = SplitMix64(state: seed) }

    mutating func document() -> String {
        prefixes = ["xml"]
        let declaration = pick([
            "", "", "<?xml version='1.0'?>", "<?xml version=\"1.0\" encoding='utf-8'?>",
            "<?xml version='1.0' standalone=\"yes\" ?>", "<?xml version='1.0' encoding='UTF-8' standalone='no'?>",
        ])
        return declaration + outside() + element(depth: 0) + outside()
    }

    private mutating func pick(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }

    private mutating func chance(_ part: Int) -> Bool { Int.random(in: 0..<part, using: &random) == 0 }

    private mutating func space() -> String { pick([" ", " ", " ", "\t", "\n", "\r\n", "\r", "  "]) }

    private mutating func maybeSpace() -> String { chance(3) ? space() : "" }

    private mutating func name() -> String {
        pick([
            "a", "b", "é", "e\u{301}", "_", "x-1.2", "名", "a\u{200D}", "a\u{301}\u{323}", "\u{10000}", "B\u{B7}",
            "xmlx",
        ])
    }

    private mutating func outside() -> String {
        (0..<Int.random(in: 0...2, using: &random)).map { _ in chance(2) ? space() : skipped() }.joined()
    }

    private mutating func skipped() -> String {
        pick([
            "<!---->", "<!-- - <a> &b; ]]> é-->", "<?p?>", "<?p q='1' ? >?>", "<!--\r\n-\u{301}-->", "<?x-a \r b?>",
            "<?é?>",
        ])
    }

    private mutating func text(besides quote: String) -> String {
        let pieces = [
            "x", "é", "e\u{301}", "\u{301}", "\u{200D}", "\u{FE0F}", "\r\n", "\r", "\r\r\n", "\n", "\t", " ", "\u{85}",
            "\u{2028}", "]", "]]", "&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#65;", "&#x0041;", "&#0000065;",
            "&#13;", "&#xA;", "&#9;", "&#x10FFFF;", "&#xFFFD;", "😀", "/", "=", "?", "\u{7F}", "\u{FEFF}",
            quote == "\"" ? "'" : "\"",
        ]
        return (0..<Int.random(in: 0...5, using: &random)).map { _ in pick(pieces) }.joined()
    }

    private mutating func element(depth: Int) -> String {
        let outer = prefixes
        defer { prefixes = outer }
        var attributes: [String] = []
        for prefix in ["p", "q", "é", "e\u{301}"] where chance(4) {
            prefixes.append(prefix)
            let name = pick(["urn:1", "urn:2", "urn:é", "urn:e\u{301}", "urn:&#49;"])
            attributes.append("xmlns:\(prefix)=" + quoted(name))
        }
        if chance(6) { attributes.append("xmlns=" + quoted(pick(["", "urn:1", "urn:d"]))) }
        for number in 0..<Int.random(in: 0...3, using: &random) {
            // The names are numbered, because Foundation's dictionary equates é as one code point with é as two.
            let name = (chance(3) ? pick(prefixes) + ":" : "") + name() + "\(number)"
            let quote = pick(["\"", "'"])
            attributes.append(name + maybeSpace() + "=" + maybeSpace() + quote + text(besides: quote) + quote)
        }
        attributes.shuffle(using: &random)
        let name = (chance(3) ? pick(prefixes) + ":" : "") + name()
        let tag = name + attributes.map { space() + $0 }.joined() + maybeSpace()
        if chance(4) { return "<\(tag)/>" }
        var content = ""
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1: content += text(besides: "\"")
            case 2: content += "<![CDATA[" + pick(["", "<a>&b;", "]]", "]>", "\r\n\r", "é\u{301}", "--"]) + "]]>"
            case 3: content += skipped()
            default: if depth < 4 { content += element(depth: depth + 1) }
            }
        }
        return "<\(tag)>\(content)</\(name)\(maybeSpace())>"
    }

    private mutating func quoted(_ text: String) -> String {
        let quote = pick(["\"", "'"])
        return quote + text + quote
    }
}
