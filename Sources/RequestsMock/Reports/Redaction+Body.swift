import Requests

extension Redaction {
    /// Returns a body without the values of the items of a form, the parts of a multipart form and the members of JSON
    /// whose names are secret.
    ///
    /// JSON is found in text of any type, even if it is malformed, and keeps its other bytes.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - mediaType: The value of its Content-Type.
    /// - Returns: The redacted body.
    func redacted(body data: Data, _ mediaType: String) -> Data {
        let type = MediaType(mediaType)
        var bytes = Array(data)
        if type?.type == .multipart, let boundary = type?.parameter("boundary") {
            bytes = redacted(partsOf: bytes, boundary: boundary)
        } else if type?.subtype == .urlEncodedForm {
            // As the query of a path, in which an at sign is not the end of userinfo.
            bytes = Array(redacted(reference: "/?\(String(decoding: bytes, as: UTF8.self))").utf8.dropFirst(2))
        }
        return Data(JSONSecrets(self).redacted(bytes))
    }

    /// Returns a multipart form without the contents of its secret parts (RFC 7578 §4).
    private func redacted(partsOf form: [UInt8], boundary: String) -> [UInt8] {
        // The first delimiter needs no line break before it.
        let (bytes, delimiter) = (Array("\r\n".utf8) + form, Array("\r\n--\(boundary)".utf8))
        let starts = Self.occurrences(of: delimiter, in: bytes[...])
        var (result, copied) = ([UInt8](), 2)
        for (start, end) in zip(starts, starts.dropFirst() + [bytes.count]) {
            let part = bytes[(start + delimiter.count)..<end]
            guard let emptyLine = Self.occurrences(of: Array("\r\n\r\n".utf8), in: part).first,
                isSecret(partWithHeader: part[..<emptyLine])
            else { continue }
            result += bytes[copied..<emptyLine + 4] + Array(Self.placeholder.utf8)
            copied = end
        }
        return Array(result + bytes[copied...])
    }

    private func isSecret(partWithHeader header: ArraySlice<UInt8>) -> Bool {
        let text = String(decoding: header, as: UTF8.self).replacingBytes { $0 == 0x0D ? "" : nil }
        return text.splitBytes(at: "\n").contains { line in
            let field = line.splitBytes(at: ":", maxSplits: 1)
            guard field.count == 2, ASCIIFolding.areEqual(String(field[0]), "Content-Disposition") else { return false }
            let disposition = ContentDisposition(fieldValue: String(field[1]))
            return disposition?.parameters["name"].map { queryItemNames.contains(CaseInsensitiveString($0)) } ?? false
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
}
