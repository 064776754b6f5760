/// A reader of the frames of a connection (RFC 9113 §4), which arrive in any number of pieces.
///
/// Pass it all received bytes, once:
/// ```swift
/// var position = 0
/// while let frame = try reader.next(in: bytes, at: &position) { … }
/// ```
/// It keeps an incomplete frame, at most 16 KiB, and an incomplete header block. DATA is never copied: each
/// part is reported as it arrives, as a range of the bytes passed. An error is final: do not use the reader after it.
package struct FrameReader: ~Copyable, Sendable {
    /// The bytes with which a client begins a connection (RFC 9113 §3.4).
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// The maximum size of a payload: the default of SETTINGS_MAX_FRAME_SIZE, which is never raised.
    package static let maximumPayload = 16_384
    /// The maximum number of CONTINUATION frames in a header block.
    static let maximumContinuations = 8

    /// A header block whose last frame has not arrived.
    private struct OpenBlock {
        let stream: StreamID
        let endsStream: Bool
        var continuations = 0
    }

    private let role: HTTP2Role
    /// The number of bytes of the preface that are still expected.
    private var missingPreface: Int
    private var isFirstFrame = true
    /// The header of the frame that has begun.
    private var header: FrameHeader?
    /// The bytes of an incomplete header or payload.
    private var stored: [UInt8] = []
    /// The number of bytes of a DATA frame that have not been reported.
    private var unreadData = 0
    /// The padding of a DATA frame that has not arrived; nil before its length is known.
    private var unreadPadding: Int?
    /// Whether a part of the DATA frame had content.
    private var hasContent = false
    private var openBlock: OpenBlock?

    /// The header block of the last ``Frame/headers(stream:endsStream:)``, without padding and priority.
    package private(set) var block: [UInt8] = []

    /// Creates a reader for the side of a connection that has `role`.
    package init(_ role: HTTP2Role) {
        self.role = role
        missingPreface = role == .server ? Self.preface.count : 0
    }

    /// Reads the next frame, or part of a DATA frame, from `position` on, and advances `position`.
    ///
    /// - Returns: The frame; nil if it is incomplete, and all bytes were consumed.
    /// - Throws: A connection error.
    package mutating func next(in bytes: Span<UInt8>, at position: inout Int) throws(HTTP2Error) -> Frame? {
        guard try readPreface(bytes, at: &position) else { return nil }
        while true {
            if header == nil {
                guard collect(FrameHeader.size, of: bytes, at: &position) else { return nil }
                try readHeader()
            }
            guard let header else { return nil }
            if header.type == .data { return try readData(header, bytes, at: &position) }
            guard collect(header.length, of: bytes, at: &position) else { return nil }
            if let frame = try readPayload(header) { return frame }
        }
    }

    /// Moves bytes to `stored` until it has `count` of them; returns whether it has.
    private mutating func collect(_ count: Int, of bytes: Span<UInt8>, at position: inout Int) -> Bool {
        let end = position + min(count - stored.count, bytes.count - position)
        bytes.extracting(position..<end).withUnsafeBufferPointer { stored.append(contentsOf: $0) }
        position = end
        return stored.count == count
    }

    /// Compares the bytes with the client's preface; returns whether it is complete.
    private mutating func readPreface(_ bytes: Span<UInt8>, at position: inout Int) throws(HTTP2Error) -> Bool {
        while missingPreface > 0, position < bytes.count {
            guard bytes[position] == Self.preface[Self.preface.count - missingPreface] else {
                throw HTTP2Error(.preface, in: nil)
            }
            missingPreface -= 1
            position += 1
        }
        return missingPreface == 0
    }

    // MARK: The header

    /// Checks the collected header of a frame.
    private mutating func readHeader() throws(HTTP2Error) {
        let header = FrameHeader(stored.span)
        if isFirstFrame { try checkFirst(header) }
        isFirstFrame = false
        stored.removeAll(keepingCapacity: true)
        do throws(HTTP2Violation) {
            try check(header)
        } catch {
            throw HTTP2Error(error, in: header.type, on: header.stream)
        }
        self.header = header
        (unreadData, unreadPadding, hasContent) = (header.length, header.flags.contains(.padded) ? nil : 0, false)
    }

    /// Checks that the peer begins with SETTINGS.
    ///
    /// The error for a server that begins with text, such as one with HTTP/1.1 or SSH, contains that text.
    private func checkFirst(_ header: FrameHeader) throws(HTTP2Error) {
        guard header.type != .settings || header.flags.contains(.acknowledgement) else { return }
        // The length of a frame that a peer may send begins with 0 or 1, never with a printable character.
        guard stored[0] < 0x20 else {
            throw HTTP2Error(.notHTTP2, in: nil, cause: .received(stored))
        }
        throw HTTP2Error(.firstFrame, in: header.type, on: header.stream)
    }

    private func check(_ header: FrameHeader) throws(HTTP2Violation) {
        guard header.length <= Self.maximumPayload else { throw .frameTooLarge }
        if let openBlock {
            guard header.type == .continuation, header.stream == openBlock.stream else { throw .headerBlockInterrupted }
            guard openBlock.continuations < Self.maximumContinuations else { throw .manyContinuations }
        }
        switch header.type {
        case .data, .headers, .priority, .resetStream, .continuation:
            guard header.stream != 0 else { throw .streamRequired }
        case .settings, .ping, .goAway: guard header.stream == 0 else { throw .connectionRequired }
        case .pushPromise: throw .pushPromise
        case .windowUpdate, nil: break
        }
        if header.type == .continuation, openBlock == nil { throw .unexpectedContinuation }
        guard isValidLength(header) else { throw .frameSize }
    }

    /// Returns whether the type allows the length; PRIORITY is checked later, because a wrong length concerns only its
    /// stream.
    private func isValidLength(_ header: FrameHeader) -> Bool {
        switch header.type {
        case .resetStream, .windowUpdate: header.length == 4
        case .settings:
            header.flags.contains(.acknowledgement) ? header.length == 0 : header.length.isMultiple(of: 6)
        case .ping: header.length == 8
        case .goAway: header.length >= 8
        case .data, .headers: header.length >= paddingPrefix(header)
        case .priority, .continuation, .pushPromise, nil: true
        }
    }

    /// Returns the number of bytes that precede the content of DATA or HEADERS.
    private func paddingPrefix(_ header: FrameHeader) -> Int {
        (header.flags.contains(.padded) ? 1 : 0)
            + (header.type == .headers && header.flags.contains(.priority) ? 5 : 0)
    }

    // MARK: Payloads

    /// Returns the part of a DATA frame that has arrived, or nil if nothing has.
    private mutating func readData(
        _ header: FrameHeader, _ bytes: Span<UInt8>, at position: inout Int
    ) throws(HTTP2Error) -> Frame? {
        guard position < bytes.count || unreadData == 0 else { return nil }
        let before = unreadData
        if unreadPadding == nil {
            guard Int(bytes[position]) < header.length else { throw HTTP2Error(.padding, in: .data, on: header.stream) }
            unreadPadding = Int(bytes[position])
            position += 1
            unreadData -= 1
        }
        let padding = unreadPadding ?? 0
        let content = position..<position + min(unreadData - padding, bytes.count - position)
        unreadData -= content.count
        let dropped = unreadData == padding ? min(padding, bytes.count - content.upperBound) : 0
        unreadData -= dropped
        unreadPadding = padding - dropped
        position = content.upperBound + dropped
        hasContent = hasContent || !content.isEmpty
        if unreadData == 0 { self.header = nil }
        return .data(
            Frame.DataPart(
                stream: header.stream, range: content, countedBytes: before - unreadData, remainingBytes: before,
                beginsFrame: before == header.length, isEmptyFrame: unreadData == 0 && !hasContent,
                endsStream: unreadData == 0 && header.flags.contains(.endStream)))
    }

    /// Returns the frame whose payload has been collected; nil if it does not complete a header block.
    private mutating func readPayload(_ header: FrameHeader) throws(HTTP2Error) -> Frame? {
        self.header = nil
        var payload: [UInt8] = []
        // Exchanged, because a copy would share the memory, and the reader keeps the capacity.
        swap(&payload, &stored)
        defer {
            payload.removeAll(keepingCapacity: true)
            swap(&payload, &stored)
        }
        do throws(HTTP2Violation) {
            switch header.type {
            case .headers, .continuation: return try appendToBlock(payload.span, header)
            default: return try Frame(header, payload.span, as: role)
            }
        } catch {
            throw HTTP2Error(error, in: header.type, on: header.stream)
        }
    }

    /// Appends the payload of HEADERS or CONTINUATION to the header block, and returns the frame if it is complete.
    private mutating func appendToBlock(
        _ payload: Span<UInt8>, _ header: FrameHeader
    ) throws(HTTP2Violation) -> Frame? {
        var content = 0..<payload.count
        if header.type == .headers {
            block.removeAll(keepingCapacity: true)
            openBlock = OpenBlock(stream: header.stream, endsStream: header.flags.contains(.endStream))
            let padding = header.flags.contains(.padded) ? Int(payload[0]) : 0
            guard paddingPrefix(header) + padding <= payload.count else { throw .padding }
            content = paddingPrefix(header)..<payload.count - padding
        } else {
            openBlock?.continuations += 1
        }
        payload.extracting(content).withUnsafeBufferPointer { block.append(contentsOf: $0) }
        guard header.flags.contains(.endHeaders), let openBlock else { return nil }
        self.openBlock = nil
        return .headers(stream: openBlock.stream, endsStream: openBlock.endsStream)
    }
}

extension Frame {
    /// Reads the payload of a frame that is neither DATA nor a part of a header block.
    fileprivate init(_ header: FrameHeader, _ payload: Span<UInt8>, as role: HTTP2Role) throws(HTTP2Violation) {
        let isAcknowledgement = header.flags.contains(.acknowledgement)
        switch header.type {
        case .resetStream:
            self = .resetStream(header.stream, HTTP2ErrorCode(rawValue: payload.uint32(at: 0)))
        case .settings where isAcknowledgement: self = .settingsAcknowledgement
        case .settings: self = .settings(try ReceivedSettings(payload, as: role))
        case .ping:
            let opaque = payload.withUnsafeBufferPointer { Array($0) }
            self = isAcknowledgement ? .pingAcknowledgement(opaque) : .ping(opaque)
        case .goAway:
            let debugData = payload.extracting(8..<min(payload.count, 8 + GoAway.maximumDebugData))
            self = .goAway(
                GoAway(
                    lastStream: payload.uint32(at: 0) & .largest,
                    code: HTTP2ErrorCode(rawValue: payload.uint32(at: 4)),
                    debugData: debugData.withUnsafeBufferPointer { Array($0) }))
        case .windowUpdate: self = try .windowUpdate(header, increment: Int(payload.uint32(at: 0) & .largest))
        case .priority where payload.count != 5:
            self = .streamError(HTTP2Error(.frameSize, in: .priority, on: header.stream))
        default: self = .ignored(header.type)
        }
    }

    /// Returns a WINDOW_UPDATE frame.
    ///
    /// An increment of 0 is an error of the stream, or of the connection if it concerns the connection's window (RFC
    /// 9113 §6.9).
    private static func windowUpdate(_ header: FrameHeader, increment: Int) throws(HTTP2Violation) -> Frame {
        if increment > 0 { return .windowUpdate(header.stream, increment: increment) }
        guard header.stream != 0 else { throw .windowIncrement }
        return .streamError(HTTP2Error(.windowIncrement, in: .windowUpdate, on: header.stream))
    }
}
