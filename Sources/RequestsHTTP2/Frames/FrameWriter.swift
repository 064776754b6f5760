/// A writer that appends frames to one buffer (RFC 9113 §4, §6).
///
/// The content of DATA is not written, only its frame header: the sender inserts the bytes.
package struct FrameWriter: ~Copyable, Sendable {
    /// The frames that have been written and not removed.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Replaces all bytes, and reuses the memory.
    package mutating func replaceAll(with newBytes: [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        bytes += newBytes
    }

    /// Appends the header of a frame whose payload has `length` bytes, at most 16,384.
    private mutating func append(_ length: Int, _ type: FrameType, _ flags: FrameFlags = [], on stream: StreamID) {
        bytes.append(UInt8(truncatingIfNeeded: length >> 16))
        bytes.append(UInt8(truncatingIfNeeded: length >> 8))
        bytes.append(UInt8(truncatingIfNeeded: length))
        bytes.append(type.rawValue)
        bytes.append(flags.rawValue)
        append(stream)
    }

    private mutating func append(_ number: UInt32) {
        for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    package mutating func preface() {
        bytes += FrameReader.preface
    }

    /// Appends the header of a DATA frame, which `count` bytes of content must follow; at most 16,384.
    package mutating func data(_ count: Int, on stream: StreamID, endsStream: Bool) {
        append(count, .data, endsStream ? .endStream : [], on: stream)
    }

    /// Appends a header block as HEADERS and as many CONTINUATION frames as it needs.
    package mutating func headers(_ block: [UInt8], on stream: StreamID, endsStream: Bool) {
        var (start, type) = (0, FrameType.headers)
        var flags: FrameFlags = endsStream ? .endStream : []
        repeat {
            let end = min(block.count, start + FrameReader.maximumPayload)
            if end == block.count { flags.insert(.endHeaders) }
            append(end - start, type, flags, on: stream)
            bytes += block[start..<end]
            (start, type, flags) = (end, .continuation, [])
        } while start < block.count
    }

    package mutating func resetStream(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        append(4, .resetStream, on: stream)
        append(code.rawValue)
    }

    /// Appends SETTINGS with the values in their order.
    package mutating func settings(_ values: [(id: UInt16, value: Int)]) {
        append(6 * values.count, .settings, on: 0)
        for (id, value) in values {
            bytes.append(UInt8(id >> 8))
            bytes.append(UInt8(truncatingIfNeeded: id))
            append(UInt32(clamping: value))
        }
    }

    package mutating func settingsAcknowledgement() {
        append(0, .settings, .acknowledgement, on: 0)
    }

    /// Appends PING with eight bytes.
    package mutating func ping(_ opaque: [UInt8], isAcknowledgement: Bool) {
        append(8, .ping, isAcknowledgement ? .acknowledgement : [], on: 0)
        bytes += opaque
    }

    /// Appends GOAWAY with at most 256 bytes of `debugText`.
    package mutating func goAway(lastStream: StreamID, _ code: HTTP2ErrorCode, debugText: String = "") {
        let text = debugText.utf8.prefix(Frame.GoAway.maximumDebugData)
        append(8 + text.count, .goAway, on: 0)
        append(lastStream)
        append(code.rawValue)
        bytes += text
    }

    /// Appends WINDOW_UPDATE for a stream, or for the connection (0).
    package mutating func windowUpdate(_ stream: StreamID, increment: Int) {
        append(4, .windowUpdate, on: stream)
        append(UInt32(clamping: increment))
    }
}
