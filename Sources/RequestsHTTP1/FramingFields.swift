import Requests

/// The role of a field in framing its message or in keeping its connection open.
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
    private var transferCodings = TransferCodings()
    private var contentLength = ContentLength()
    private var connection = ConnectionOptions()
    private(set) var keepAlive: String?
    private(set) var hostCount = 0
    /// Whether a Host field is neither empty nor a host with an optional port.
    private(set) var hasInvalidHost = false

    init() {}

    init(_ fields: some Sequence<Field>) {
        for field in fields {
            guard let role = FramingRole(field.name) else { continue }
            var value = field.value
            value.withUTF8 { add($0.span, as: role) }
        }
    }

    /// Adds the value of a field of `role`.
    mutating func add(_ value: Span<UInt8>, as role: FramingRole) {
        switch role {
        case .host:
            hostCount += 1
            if !value.isHostField { hasInvalidHost = true }
        case .connection: connection.add(value)
        case .keepAlive: addKeepAlive(value.text(from: 0, to: value.count, isASCII: false))
        case .contentLength: contentLength.add(value)
        case .transferEncoding: transferCodings.add(value)
        }
    }

    private mutating func addKeepAlive(_ value: String) {
        guard keepAlive != nil else { return keepAlive = value }
        // Appended in place: a copy for each of many fields would be quadratic.
        keepAlive?.append(",")
        keepAlive?.append(value)
    }
}

// The rules of RFC 9112 §6.3, in the order given there.
extension FramingFields {
    func framing(
        of line: StatusLine, respondsToHead: Bool, respondsToConnect: Bool = false
    ) throws(WireError) -> BodyFraming {
        // The fields are ignored, even invalid ones, because a tunnel follows the head (RFC 9110 §9.3.6).
        if respondsToConnect, line.status.isSuccess { return .none }
        if line.status.forbidsBody || respondsToHead {
            // Reject differing lengths even here: two readers of this head could disagree about a body.
            if !line.status.isInformational { _ = try contentLength.number() }
            return .none
        }
        if try isChunked(in: line.version) { return .chunked }
        guard let length = try contentLength.number() else { return .untilClose }
        return .counted(bytes: length)
    }

    func framing(of line: RequestLine) throws(WireError) -> BodyFraming {
        if try isChunked(in: line.version) { return .chunked }
        guard let length = try contentLength.number() else { return .none }
        return .counted(bytes: length)
    }

    func persists(after version: HTTPVersion, _ framing: BodyFraming) -> Bool {
        // A pattern, because the synthesized equality compares the lengths too.
        if case .untilClose = framing { return false }
        return !connection.closes && (version >= .http11 || connection.keepsAlive)
    }

    /// Returns whether the transfer coding is chunked; false if there is none (RFC 9112 §6.1).
    private func isChunked(in version: HTTPVersion) throws(WireError) -> Bool {
        guard transferCodings.isPresent else { return false }
        guard version >= .http11 else { throw .violation(.transferCodingInHTTP10) }
        guard !contentLength.isPresent else { throw .violation(.lengthWithTransferCoding) }
        guard transferCodings.endsChunked, transferCodings.chunkedCount == 1 else {
            throw .violation(.transferCoding)
        }
        guard transferCodings.count == 1 else { throw .violation(.unsupportedTransferCoding) }
        return true
    }
}
