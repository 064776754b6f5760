import Requests

/// The checked fields of a header block (RFC 9113 §8.2, §8.3).
struct ReceivedSection {
    /// The pseudo-header fields; their values are checked like any other field value.
    private(set) var pseudoFields: [(name: String, value: String)] = []
    /// The number in Content-Length; nil without the field.
    private(set) var contentLength: Int?
    /// The fields after the pseudo-header fields.
    private(set) var header = Header.empty
    private var cookies = 0

    /// Checks `fields`.
    ///
    /// - Parameters:
    ///   - fields: The fields in their order; nil if there are none.
    ///   - pseudoNames: The pseudo-header fields that the section may contain, each once.
    /// - Throws: The violation of the first invalid field.
    init(_ fields: consuming ReceivedFields?, allowing pseudoNames: [String]) throws(HTTP2Violation) {
        // Taken: if another reference remained, removing the pseudo-header fields would copy all fields.
        guard var fields = fields.take() else { return }
        for position in 0..<fields.count {
            let violation = fields.withBytes(at: position) { name, value, _ in
                add(name, value, at: position, allowing: pseudoNames)
            }
            if let violation { throw violation }
        }
        fields.removeFirst(pseudoFields.count)
        header = Header(fields)
        // Each part of a Cookie field may be a field in HTTP/2 (RFC 9113 §8.2.3).
        if cookies > 1 { header = Header(header.list.joiningCookies) }
    }

    /// Returns the value of a pseudo-header field, or nil without it.
    subscript(pseudoName: String) -> String? {
        pseudoFields.first { $0.name.hasSameBytes(as: pseudoName) }?.value
    }

    /// Adds a field, and returns its violation, if any.
    private mutating func add(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, at position: Int,
        allowing pseudoNames: [String]
    ) -> HTTP2Violation? {
        guard Token.isFieldValue(value), !isBlank(value.first), !isBlank(value.last) else { return .fieldValue }
        guard name.first != UInt8(ascii: ":") else {
            let text = String(decoding: name, as: UTF8.self)
            // Pseudo-header fields precede all others, so that their number is the position.
            guard pseudoFields.count == position, pseudoNames.contains(where: { $0.hasSameBytes(as: text) }),
                self[text] == nil
            else { return .pseudoField }
            pseudoFields.append((text, String(decoding: value, as: UTF8.self)))
            return nil
        }
        guard !name.isEmpty, name.allSatisfy(Self.isLowerCaseTokenByte) else { return .fieldName }
        return addRegular(name, value)
    }

    private mutating func addRegular(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) -> HTTP2Violation? {
        switch name.count {
        case 2 where name.equals("te"): return value.equals("trailers") ? nil : .connectionField
        case 6 where name.equals("cookie"): cookies += 1
        case 7 where name.equals("upgrade"): return .connectionField
        case 10 where name.equals("connection") || name.equals("keep-alive"): return .connectionField
        case 14 where name.equals("content-length"): return addContentLength(value)
        case 16 where name.equals("proxy-connection"): return .connectionField
        case 17 where name.equals("transfer-encoding"): return .connectionField
        default: break
        }
        return nil
    }

    /// Adds a Content-Length; several must be equal, as in HTTP/1.1.
    private mutating func addContentLength(_ value: UnsafeBufferPointer<UInt8>) -> HTTP2Violation? {
        // Only digits, because the initializer of `Int` also accepts a sign.
        guard value.allSatisfy({ $0 &- 0x30 < 10 }), let number = Int(String(decoding: value, as: UTF8.self)),
            contentLength == nil || contentLength == number
        else { return .contentLength }
        contentLength = number
        return nil
    }

    private func isBlank(_ byte: UInt8?) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Returns whether `byte` is allowed in a token, and is not an upper-case letter.
    private static func isLowerCaseTokenByte(_ byte: UInt8) -> Bool {
        // One bit for each byte below 128, as in `Token`; here, because a call to another module for each byte is slow.
        let (low, high): (UInt64, UInt64) = (0x03ff_6cfa_0000_0000, 0x57ff_ffff_c000_0000)
        return byte < 128 && (byte < 64 ? low : high) & (1 << UInt64(byte & 63)) != 0
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate func equals(_ text: StaticString) -> Bool {
        elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}

extension MessageHead {
    /// Reads the head of a response, interim or final.
    init(response section: ReceivedSection) throws(HTTP2Violation) {
        guard let text = section[":status"] else { throw .missingPseudoField }
        guard text.utf8.count == 3, let code = Int(text), 100...999 ~= code else { throw .pseudoField }
        guard code != 101 else { throw .switchingProtocols }
        self = .response(HTTPStatus(code), section.header)
    }

    /// Reads the head of a request (RFC 9113 §8.3.1, §8.5).
    init(request section: ReceivedSection) throws(HTTP2Violation) {
        guard let name = section[":method"] else { throw .missingPseudoField }
        guard Token.isToken(name.utf8) else { throw .pseudoField }
        let method = HTTPMethod(name)
        let (scheme, path, authority) = (section[":scheme"], section[":path"], section[":authority"])
        if method == .connect {
            guard authority != nil else { throw .missingPseudoField }
            guard scheme == nil, path == nil else { throw .pseudoField }
        } else {
            guard let scheme, let path else { throw .missingPseudoField }
            guard TargetURI.isScheme(scheme.utf8) else { throw .pseudoField }
            guard path.utf8.first == UInt8(ascii: "/") || method == .options && path.hasSameBytes(as: "*")
            else { throw .pseudoField }
        }
        self = .request(
            RequestHead(
                method: method, scheme: scheme, authority: authority, path: path, header: section.header))
    }

    static let responseNames = [":status"]
    static let requestNames = [":method", ":scheme", ":authority", ":path"]
}
