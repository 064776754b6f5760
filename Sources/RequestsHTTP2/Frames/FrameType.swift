/// The type of a frame (RFC 9113 §6).
package enum FrameType: UInt8, CaseIterable, Sendable {
    case data, headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
}

extension FrameType: CustomStringConvertible {
    /// The name in RFC 9113, such as `RST_STREAM`.
    package var description: String {
        switch self {
        case .data: "DATA"
        case .headers: "HEADERS"
        case .priority: "PRIORITY"
        case .resetStream: "RST_STREAM"
        case .settings: "SETTINGS"
        case .pushPromise: "PUSH_PROMISE"
        case .ping: "PING"
        case .goAway: "GOAWAY"
        case .windowUpdate: "WINDOW_UPDATE"
        case .continuation: "CONTINUATION"
        }
    }
}

/// The flags of a frame; bits that its type does not define are ignored (RFC 9113 §4.1).
struct FrameFlags: OptionSet, Sendable {
    let rawValue: UInt8

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The last frame of the stream in this direction.
    static let endStream = FrameFlags(rawValue: 0x1)
    /// An acknowledgement of SETTINGS or PING.
    static let acknowledgement = FrameFlags(rawValue: 0x1)
    /// The last frame of a header block.
    static let endHeaders = FrameFlags(rawValue: 0x4)
    /// A byte with the length of the padding precedes the content.
    static let padded = FrameFlags(rawValue: 0x8)
    /// Five bytes with a priority precede the content of HEADERS; they are ignored.
    static let priority = FrameFlags(rawValue: 0x20)
}

/// The nine bytes that begin a frame (RFC 9113 §4.1).
struct FrameHeader: Sendable {
    static let size = 9

    /// The number of bytes of the payload.
    let length: Int
    /// The type; nil for one that RFC 9113 does not define.
    let type: FrameType?
    let flags: FrameFlags
    /// The stream, without the reserved bit; 0 is the connection.
    let stream: StreamID

    /// Reads the first nine of `bytes`, which must have at least nine.
    init(_ bytes: Span<UInt8>) {
        length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        type = FrameType(rawValue: bytes[3])
        flags = FrameFlags(rawValue: bytes[4])
        stream = bytes.uint32(at: 5) & .largest
    }
}

/// The number of a stream: odd for a stream that the client opens, and 0 for the connection (RFC 9113 §5.1.1).
package typealias StreamID = UInt32

extension StreamID {
    /// The last number of a stream, 2^31 - 1.
    package static let largest: StreamID = 0x7FFF_FFFF
}

extension Span<UInt8> {
    /// Returns the number in network byte order at `position`.
    func uint32(at position: Int) -> UInt32 {
        UInt32(uint16(at: position)) << 16 | UInt32(uint16(at: position + 2))
    }

    /// Returns the number in network byte order at `position`.
    func uint16(at position: Int) -> UInt16 {
        UInt16(self[position]) << 8 | UInt16(self[position + 1])
    }
}
