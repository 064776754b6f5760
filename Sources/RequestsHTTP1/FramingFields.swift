import Requests

/// The role of a field in framing its message or in the persistence of its connection.
enum FramingRole: Sendable {
    case host, connection, keepAlive, contentLength, transferEncoding

    /// Creates the role of the field called `name`; nil for nearly all fields.
    init?(_ name: Field.Name) {
        switch name {
        case .host: self = .host
        case .connection: self = .connection
        case .keepAlive: self = .keepAlive
        case .contentLength: self = .contentLength
        case .transferEncoding: self = .transferEncoding
        default: return nil
        }
    }
}

/// The fields that decide where a message ends and whether its connection persists.
///
/// A repeated field is combined into one list (RFC 9110 §5.3).
struct FramingFields {
    private(set) var transferEncoding: String?
    private(set) var contentLength: String?
    private(set) var connection: String?
    private(set) var keepAlive: String?
    /// The number of Host fields.
    private(set) var hostCount = 0
    /// Whether a Host field is neither empty nor a host with an optional port.
    private(set) var hasInvalidHost = false

    init() {}

    init(_ fields: some Sequence<Field>) {
        for field in fields {
            if let role = FramingRole(field.name) { add(field.value, as: role) }
        }
    }

    /// Adds the value of a field of `role`.
    mutating func add(_ value: String, as role: FramingRole) {
        switch role {
        case .host:
            hostCount += 1
            var value = value
            if !value.withUTF8({ $0.span.isHostField }) { hasInvalidHost = true }
        case .connection: add(value, to: &connection)
        case .keepAlive: add(value, to: &keepAlive)
        case .contentLength: add(value, to: &contentLength)
        case .transferEncoding: add(value, to: &transferEncoding)
        }
    }

    private func add(_ value: String, to list: inout String?) {
        guard list != nil else { return list = value }
        // Appended in place: a copy for each of many fields would be quadratic.
        list?.append(",")
        list?.append(value)
    }
}

// The rules of RFC 9112 §6.3, in the order given there.
extension FramingFields {
    func framing(of line: StatusLine, answersHead: Bool) throws(WireError) -> BodyFraming {
        if line.status.forbidsBody || answersHead {
            // Reject differing lengths even here: two readers of this head could disagree about a body.
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

    /// Returns whether the transfer coding is chunked; false if there is none (RFC 9112 §6.1).
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

    /// Returns the number on which all values of Content-Length agree, or nil if there are none (RFC 9110 §8.6).
    ///
    /// A list of identical digits counts as one value; different spellings of one number are conflicting.
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

    /// Returns the number in `text` if it consists of 1 to 18 digits, as nearly every length does; otherwise nil.
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
