/// A search for the values of JSON members with secret names, in text that may be malformed or truncated.
package struct JSONSecrets {
    private let redaction: Redaction

    /// Creates a search for the names of `redaction`.
    package init(_ redaction: Redaction) {
        self.redaction = redaction
    }

    /// Returns `text` with the values of secret members, except null, replaced by a string with
    /// ``Redaction/placeholder``.
    ///
    /// The time is linear in the length of the text.
    package func redacted(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var (copied, index) = (0, 0)
        while let quote = text[index...].firstIndex(of: UInt8(ascii: "\"")) {
            let end = Self.endOfString(text, from: quote)
            index = end
            let colon = Self.skippingSpace(text, from: end)
            guard colon < text.count, text[colon] == UInt8(ascii: ":"), isSecret(text[quote..<end]) else { continue }
            let value = Self.skippingSpace(text, from: colon + 1)
            guard value < text.count else { break }
            index = Self.endOfValue(text, from: value)
            // The absence of a value is not a secret, and a decoder may depend on it.
            if text[value..<index].lazy.filter({ $0 > 0x20 }).elementsEqual("null".utf8) { continue }
            result += text[copied..<value]
            result += "\"\(Redaction.placeholder)\"".utf8
            copied = index
        }
        return copied == 0 ? text : result + text[copied...]
    }

    /// Whether the member with the quoted name `quoted` is secret.
    private func isSecret(_ quoted: ArraySlice<UInt8>) -> Bool {
        // No secret name is longer, even with every character escaped twice.
        guard quoted.count < 1 << 10 else { return false }
        var name = String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
        if quoted.contains(UInt8(ascii: "\\")), case .string(let text)? = try? JSONValue(parsing: Data(quoted)) {
            name = text
        }
        return redaction.queryItemNames.contains(CaseInsensitiveString(name))
            || redaction.isSecret(Field.Name(name))
    }

    /// Returns the index after the string that begins at `start`, or the end of the text.
    private static func endOfString(_ text: [UInt8], from start: Int) -> Int {
        var index = start + 1
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "\\"): index += 2
            case UInt8(ascii: "\""): return index + 1
            default: index += 1
            }
        }
        return text.count
    }

    /// Returns the index after the value that begins at `start`: a string, an array, an object, or a word.
    private static func endOfValue(_ text: [UInt8], from start: Int) -> Int {
        var (index, depth) = (start, 0)
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "\""):
                index = endOfString(text, from: index)
                if depth == 0 { return index }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return index }
                depth -= 1
                if depth == 0 { return index + 1 }
            case UInt8(ascii: ","), 0x0A:
                if depth == 0 { return index }
            default: break
            }
            index += 1
        }
        return text.count
    }

    private static func skippingSpace(_ text: [UInt8], from start: Int) -> Int {
        text[start...].firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? text.count
    }
}
