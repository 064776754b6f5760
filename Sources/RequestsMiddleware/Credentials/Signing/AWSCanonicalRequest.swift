internal import RequestsPOSIX

/// The canonical form of a request, whose hash AWS Signature Version 4 signs.
package struct AWSCanonicalRequest: Sendable {
    /// The names of the signed fields in lower case, sorted and separated by semicolons.
    package let signedNames: String
    /// The canonical form, in lines: method, path, query, fields, names of the fields, and hash of the body.
    package let text: String

    /// Creates the canonical form of a request.
    ///
    /// - Parameters:
    ///   - request: The request, with the fields of the signature except for Authorization.
    ///   - query: The canonical query.
    ///   - payloadHash: The hash of the body in hexadecimal, or the word for its protection.
    ///   - isS3: Whether the path is decoded and encoded again, instead of normalized and encoded twice.
    ///   - includesName: A function that returns whether a field with this lower-case name is signed.
    init(
        _ request: PreparedRequest, query: String, payloadHash: String, isS3: Bool,
        signing includesName: (String) -> Bool
    ) {
        var values: [String: [String]] = ["host": [request.target.authority]]
        for field in request.header {
            let name = field.name.canonicalName
            guard includesName(name), !field.name.belongsToExecutor else { continue }
            values[name, default: []].append(Self.canonicalValue(field.value))
        }
        // Bytes, not characters, because the service sorts bytes.
        let names = values.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        signedNames = names.joined(separator: ";")
        let lines = names.map { "\($0):\((values[$0] ?? []).joined(separator: ","))" }
        let path = request.target.path
        text =
            ([
                request.method.rawValue, isS3 ? Self.objectPath(path) : Self.canonicalPath(path), query,
            ] + lines + ["", signedNames, payloadHash]).joined(separator: "\n")
    }

    /// Returns a value without white space at its ends, and with one space in place of each run of spaces.
    static func canonicalValue(_ value: String) -> String {
        value.utf8.split { $0 == 0x20 || $0 == 0x09 }.map { String(Substring($0)) }.joined(separator: " ")
    }

    /// Returns a path without empty segments and dot segments, percent-encoded once more.
    static func canonicalPath(_ path: String) -> String {
        var kept: [Substring] = []
        for segment in path.splitBytes(at: "/") where !segment.hasSameBytes(as: ".") {
            if segment.hasSameBytes(as: "..") {
                _ = kept.popLast()
            } else {
                kept.append(segment)
            }
        }
        let encoded = kept.map { PercentEncoding.rfc3986.encode($0) }
        guard !encoded.isEmpty else { return "/" }
        return "/" + encoded.joined(separator: "/") + (path.hasByteSuffix("/") ? "/" : "")
    }

    /// Returns the path of an object in S3 as servers compute it: decoded, and encoded again except for slashes.
    ///
    /// Empty segments and dot segments are kept, because keys may contain them.
    static func objectPath(_ path: String) -> String { encodedAgain(path[...], isPath: true) }

    /// Returns the items of a query, in order, with every byte encoded except the unreserved ones (RFC 3986 §2.3).
    static func encodedItems(of query: String?) -> [(name: String, value: String)] {
        (query ?? "").splitBytes(at: "&").map { item in
            let parts = item.splitBytes(at: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (encodedAgain(parts[0]), parts.count > 1 ? encodedAgain(parts[1]) : "")
        }
    }

    /// Returns the canonical query: the items sorted by name and value.
    static func canonicalQuery(_ items: [(name: String, value: String)]) -> String {
        items.sorted { left, right in
            left.name.hasSameBytes(as: right.name)
                ? left.value.utf8.lexicographicallyPrecedes(right.value.utf8)
                : left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
        }.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    /// Returns percent-encoded text, decoded and encoded again byte by byte, because it need not be UTF-8.
    private static func encodedAgain(_ text: Substring, isPath: Bool = false) -> String {
        var bytes: [UInt8] = []
        var remainder = text.utf8[...]
        while let byte = remainder.popFirst() {
            if byte == UInt8(ascii: "%"), let high = remainder.first.flatMap(Hex.value),
                let low = remainder.dropFirst().first.flatMap(Hex.value)
            {
                remainder.removeFirst(2)
                bytes.append(high << 4 | low)
            } else {
                // Services decode a plus sign in a query as a space.
                bytes.append(!isPath && byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        var encoded = ""
        for byte in bytes {
            let scalar = Unicode.Scalar(byte)
            let encoding = isPath ? PercentEncoding.segments : .rfc3986
            let isUnreserved = byte < 0x80 && encoding.encode(String(scalar)).utf8.count == 1
            encoded += isUnreserved ? String(scalar) : "%" + HexadecimalText.of([byte]).uppercasedASCII
        }
        return encoded
    }
}

extension String {
    fileprivate var uppercasedASCII: String {
        String(decoding: utf8.map { $0 &- 0x61 < 26 ? $0 &- 0x20 : $0 }, as: UTF8.self)
    }
}
