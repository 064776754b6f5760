import Requests

/// What a field has to do with the end of its message, or with that of its connection.
enum FramingRole: Sendable {
    case host, connection, keepAlive, contentLength, transferEncoding

    /// The role of the field called `name`; nil for nearly all.
    init?(_ name: Field.Name) {
        switch name.rawValue.utf8.count {
        case 4 where name == .host: self = .host
        case 10 where name == .connection: self = .connection
        case 10 where name == .keepAlive: self = .keepAlive
        case 14 where name == .contentLength: self = .contentLength
        case 17 where name == .transferEncoding: self = .transferEncoding
        default: return nil
        }
    }
}

/// The fields that decide where a message ends and how long its connection persists.
///
/// A field that is repeated is one list (RFC 9110 §5.3).
struct FramingFields {
    private(set) var transferEncoding: String?
    private(set) var contentLength: String?
    private(set) var connection: String?
    private(set) var keepAlive: String?
    /// How many Host there are.
    private(set) var hosts = 0

    init() {}

    init(_ fields: some Sequence<Field>) {
        for field in fields {
            if let role = FramingRole(field.name) { add(field.value, as: role) }
        }
    }

    /// Takes note of one more field of `role`.
    mutating func add(_ value: String, as role: FramingRole) {
        switch role {
        case .host: hosts += 1
        case .connection: add(value, to: &connection)
        case .keepAlive: add(value, to: &keepAlive)
        case .contentLength: add(value, to: &contentLength)
        case .transferEncoding: add(value, to: &transferEncoding)
        }
    }

    private func add(_ value: String, to list: inout String?) {
        guard list != nil else { return list = value }
        // In place: a copy for each of many fields would be quadratic.
        list?.append(",")
        list?.append(value)
    }
}

// RFC 9112 §6.3, in its order.
extension FramingFields {
    func framing(of line: StatusLine, answering method: HTTPMethod) throws(WireError) -> BodyFraming {
        if line.status.forbidsBody || method == .head {
            // Lengths that differ mean that two readers of this head could differ, body or not.
            if !line.status.isInformational { _ = try length() }
            return .none
        }
        if try isChunked(in: line.version) { return .chunked }
        guard let length = try length() else { return .untilClose }
        return .counted(bytes: length)
    }

    func framing(of line: RequestLine) throws(WireError) -> BodyFraming {
        if try isChunked(in: line.version) { return .chunked }
        guard let length = try length() else { return .none }
        return .counted(bytes: length)
    }

    func persists(after version: HTTPVersion, _ framing: BodyFraming) -> Bool {
        guard framing != .untilClose else { return false }
        guard let connection else { return version >= .http11 }
        if TokenList(connection).contains("close") { return false }
        return version >= .http11 || TokenList(connection).contains("keep-alive")
    }

    /// Whether the transfer coding is chunked and nothing else (RFC 9112 §6.1); false when there is none.
    private func isChunked(in version: HTTPVersion) throws(WireError) -> Bool {
        guard let transferEncoding else { return false }
        guard version >= .http11 else { throw .violation(.transferCodingInHTTP10) }
        guard contentLength == nil else { throw .violation(.lengthWithTransferCoding) }
        let codings = TokenList(transferEncoding).elements
        let isChunked = codings.map { ASCIIFolding.areEqual($0, "chunked") }
        guard isChunked.last == true, isChunked.count(where: \.self) == 1 else {
            throw .violation(.transferCoding)
        }
        guard codings.count == 1 else { throw .violation(.unsupportedTransferCoding) }
        return true
    }

    /// The number that all Content-Length agree on, or nil when there is none (RFC 9110 §8.6).
    ///
    /// A list of the same digits counts as one; the same number spelled differently does not.
    private func length() throws(WireError) -> Int? {
        guard let contentLength else { return nil }
        if let plain = Self.plainNumber(contentLength) { return plain }
        var agreed: (digits: Substring.UTF8View, value: Int)?
        for element in contentLength.utf8.split(separator: TokenList.comma, omittingEmptySubsequences: false) {
            let digits = TokenList.trimmed(element)
            let value = try decimal(digits)
            if let agreed {
                guard agreed.digits.elementsEqual(digits) else { throw .violation(.conflictingLengths) }
            } else {
                agreed = (digits, value)
            }
        }
        return agreed?.value
    }

    /// The number that `text` is when it consists of 1 to 18 digits, as nearly every length does; else nil.
    private static func plainNumber(_ text: String) -> Int? {
        guard 1...18 ~= text.utf8.count else { return nil }
        return text.utf8.withContiguousStorageIfAvailable { digits in
            var value = 0
            for digit in digits {
                guard Octet.isDigit(digit) else { return nil }
                value = value &* 10 &+ Int(digit &- Octet.zero)
            }
            return value
        } ?? nil
    }

    private func decimal(_ digits: some Collection<UInt8>) throws(WireError) -> Int {
        guard !digits.isEmpty else { throw .violation(.contentLength) }
        var value = 0
        for digit in digits {
            guard Octet.isDigit(digit) else { throw .violation(.contentLength) }
            let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int(digit &- Octet.zero))
            guard !overflow, !carry else { throw .violation(.contentLength) }
            value = sum
        }
        return value
    }
}
