/// A value with a secret name in a body.
struct SecretValue {
    /// The bytes of the value; for JSON with its quotation marks.
    let range: Range<Int>
    /// Whether it is a JSON value, whose placeholder needs quotation marks.
    let isJSON: Bool
}

extension Redaction {
    /// Returns the values with secret names in a body.
    ///
    /// They are items of a form, parts of a multipart form and their fields, elements and attributes of XML, and
    /// members of JSON.
    ///
    /// JSON is found in text of any type, even if it is malformed. An item of a form, or a string of JSON, that
    /// contains JSON with a secret is a secret as a whole. The time is linear in the length of the body.
    ///
    /// - Parameters:
    ///   - body: The body, or its beginning.
    ///   - mediaType: The value of its Content-Type; nil if it has none.
    /// - Returns: The values, in order and without overlaps.
    func secretValues(in body: [UInt8], _ mediaType: String?) -> [SecretValue] {
        let type = mediaType.flatMap(MediaType.init)
        var values: [SecretValue] = []
        if type?.type == .multipart, let boundary = type?.parameters["boundary"] {
            values = parts(of: body, boundary: boundary)
        } else if type?.subtype == .urlEncodedForm {
            values = items(of: body)
        } else if type?.isXML ?? (body.first == UInt8(ascii: "<")) {
            values = xmlValues(in: body)
        }
        return members(of: body, besides: values)
    }

    // MARK: Forms

    /// Returns the values of the secret items of a form.
    private func items(of form: [UInt8]) -> [SecretValue] {
        form.split(separator: UInt8(ascii: "&")).compactMap { item in
            guard let end = item.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let (name, value) = (String(decoding: item[..<end], as: UTF8.self), item[(end + 1)...])
            guard isSecret(queryItem: name) || hasSecretMember(inFormValue: value) else { return nil }
            return SecretValue(range: end + 1..<item.endIndex, isJSON: false)
        }
    }

    /// Returns whether an encoded value of a form contains JSON with a secret member.
    private func hasSecretMember(inFormValue value: ArraySlice<UInt8>) -> Bool {
        guard value.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "\"") }) else { return false }
        let text = PercentEncoding.decode(String(decoding: value, as: UTF8.self))
        return !members(of: Array(text.utf8), besides: []).isEmpty
    }

    /// Returns the contents of the secret parts of a multipart form (RFC 7578 §4).
    private func parts(of form: [UInt8], boundary: String) -> [SecretValue] {
        // The first delimiter needs no line break before it.
        let (bytes, delimiter) = (Array("\r\n".utf8) + form, Array("\r\n--\(boundary)".utf8))
        let starts = Self.occurrences(of: delimiter, in: bytes[...])
        return zip(starts, starts.dropFirst() + [bytes.count]).flatMap { start, end -> [SecretValue] in
            let part = bytes[min(start + delimiter.count, end)..<end]
            guard let emptyLine = Self.occurrences(of: Array("\r\n\r\n".utf8), in: part).first else { return [] }
            let header = part[..<emptyLine]
            let values = fields(of: header)
            guard isSecret(partWithHeader: header) else { return values }
            return values + [SecretValue(range: emptyLine + 2..<end - 2, isJSON: false)]
        }
    }

    /// Returns the values of the secret fields in the header of a part, which begins two bytes later than in the form.
    private func fields(of header: ArraySlice<UInt8>) -> [SecretValue] {
        header.split(separator: 0x0A).compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                isSecret(String(decoding: line[..<colon], as: UTF8.self)),
                let start = line[(colon + 1)...].firstIndex(where: { $0 > 0x20 }),
                let last = line.lastIndex(where: { $0 > 0x20 })
            else { return nil }
            return SecretValue(range: start - 2..<last - 1, isJSON: false)
        }
    }

    private func isSecret(partWithHeader header: ArraySlice<UInt8>) -> Bool {
        let text = String(decoding: header, as: UTF8.self).replacingBytes { $0 == 0x0D ? "" : nil }
        return text.splitBytes(at: "\n").contains { line in
            let field = line.splitBytes(at: ":", maxSplits: 1)
            guard field.count == 2, ASCIIFolding.areEqual(String(field[0]), "Content-Disposition") else { return false }
            let disposition = ContentDisposition(fieldValue: String(field[1]))
            return disposition?.parameters["name"].map { isSecret($0) } ?? false
        }
    }

    /// Returns the positions of `pattern`, which begins with a carriage return, in order.
    private static func occurrences(of pattern: [UInt8], in bytes: ArraySlice<UInt8>) -> [Int] {
        var (found, position) = ([Int](), bytes.startIndex)
        while let start = bytes[position...].firstIndex(of: 0x0D) {
            if bytes[start...].starts(with: pattern) { found.append(start) }
            position = start + 1
        }
        return found
    }

    // MARK: JSON

    /// Returns the values of secret members, and `others`, in order.
    ///
    /// Null, true and false are not secrets, and a decoder may depend on them.
    private func members(of text: [UInt8], besides others: [SecretValue]) -> [SecretValue] {
        var (values, others) = ([SecretValue](), others[...])
        var index = 0
        while let quote = text[index...].firstIndex(of: UInt8(ascii: "\"")) {
            // A quotation mark in the value of a form begins no member.
            while let other = others.first, other.range.lowerBound <= quote {
                values.append(other)
                others.removeFirst()
            }
            if let last = values.last, last.range.contains(quote) {
                index = last.range.upperBound
                continue
            }
            let end = Self.endOfString(text, from: quote)
            index = end
            if hasSecretMember(inString: text[(quote + 1)..<end]) {
                others = others.drop { $0.range.lowerBound < end }
                values.append(SecretValue(range: quote..<end, isJSON: true))
                continue
            }
            let colon = Self.skippingSpace(text, from: end)
            guard colon < text.count, text[colon] == UInt8(ascii: ":"), isSecret(quoted: text[quote..<end]) else {
                continue
            }
            let value = Self.skippingSpace(text, from: colon + 1)
            guard value < text.count else { break }
            index = Self.endOfValue(text, from: value)
            // The space before a comma or a line end is not part of a number.
            let last = text[value..<index].lastIndex { $0 > 0x20 } ?? value
            let word = text[value...last]
            if ["null", "true", "false"].contains(where: { word.elementsEqual($0.utf8) }) { continue }
            // The value may contain a form with secret items, which are then covered by the value.
            others = others.drop { $0.range.lowerBound < index }
            values.append(SecretValue(range: value..<last + 1, isJSON: true))
        }
        return values + others
    }

    /// Returns whether the content of a JSON string is itself JSON with a secret member.
    private func hasSecretMember(inString string: ArraySlice<UInt8>) -> Bool {
        // Each level of strings has fewer bytes, and at most half of them are backslashes.
        guard string.contains(Escape.json.rawValue) else { return false }
        var text: [UInt8] = []
        text.reserveCapacity(string.count)
        string.withUnsafeBufferPointer { string in
            var index = 0
            while index < string.count {
                let unit = string[index] == Escape.json.rawValue ? Escape.json.unit(string, at: index) : nil
                for byte in 0..<(unit?.count ?? 1) { text.append(unit?[byte] ?? string[index]) }
                index += unit?.length ?? 1
            }
        }
        guard text.count < string.count else { return false }
        return !members(of: text, besides: []).isEmpty
    }

    /// Returns whether the member with the quoted name `quoted` is secret.
    private func isSecret(quoted: ArraySlice<UInt8>) -> Bool {
        // No secret name is longer, even with every character escaped twice.
        guard quoted.count < 1 << 10 else { return false }
        if quoted.contains(UInt8(ascii: "\\")), case .string(let name)? = try? JSONValue(parsing: Data(quoted)) {
            return isSecret(name)
        }
        return isSecret(String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self))
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
