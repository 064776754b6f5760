extension Redaction {
    /// Returns the contents of elements, and the values of attributes, with secret names in XML.
    ///
    /// A prefix of a name is ignored. The text may be malformed; an element without an end tag extends to its end.
    ///
    /// - Parameter text: The document, or its beginning.
    /// - Returns: The values, in order and without overlaps.
    func xmlValues(in text: [UInt8]) -> [SecretValue] {
        var values: [SecretValue] = []
        var index = 0
        while let start = text[index...].firstIndex(of: UInt8(ascii: "<")) {
            // The tags in comments and CDATA sections are read too: they can contain a document.
            let name = Self.xmlName(text, from: start + 1)
            index = max(name.endIndex, start + 1)
            if name.isEmpty { continue }
            let content = attributes(text, from: index, &values)
            index = content
            guard text[content - 1] == UInt8(ascii: ">"), text[content - 2] != UInt8(ascii: "/"), isSecret(xml: name)
            else { continue }
            let end = Self.endTag(text, of: name, from: content)
            if content < end { values.append(SecretValue(range: content..<end, isJSON: false)) }
            index = end
        }
        return values
    }

    private func isSecret(xml name: ArraySlice<UInt8>) -> Bool {
        let local = name.lastIndex(of: UInt8(ascii: ":")).map { name[($0 + 1)...] } ?? name
        return isSecret(String(decoding: local, as: UTF8.self))
    }

    /// Appends the values of the secret attributes of a tag, and returns the index after the tag.
    private func attributes(_ text: [UInt8], from start: Int, _ values: inout [SecretValue]) -> Int {
        var (index, name) = (start, text[start..<start])
        while index < text.count, text[index] != UInt8(ascii: ">") {
            let byte = text[index]
            guard byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") else {
                let next = Self.xmlName(text, from: index)
                if !next.isEmpty { name = next }
                index = max(next.endIndex, index + 1)
                continue
            }
            let end = text[(index + 1)...].firstIndex(of: byte) ?? text.count
            if isSecret(xml: name) { values.append(SecretValue(range: index + 1..<end, isJSON: false)) }
            index = min(end + 1, text.count)
        }
        return min(index + 1, text.count)
    }

    /// Returns the index of the end tag of the element `name`, or the end of the text.
    private static func endTag(_ text: [UInt8], of name: ArraySlice<UInt8>, from start: Int) -> Int {
        let tag = Array("</".utf8) + name
        var index = start
        while let end = text[index...].firstIndex(of: UInt8(ascii: "<")) {
            if text[end...].starts(with: tag) { return end }
            index = end + 1
        }
        return text.count
    }

    /// Returns the bytes from `start` that can be part of a name.
    private static func xmlName(_ text: [UInt8], from start: Int) -> ArraySlice<UInt8> {
        text[start...].prefix { $0 > 0x20 && !"<>/='\"!?".utf8.contains($0) }
    }
}
