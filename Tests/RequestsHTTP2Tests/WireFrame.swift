import RequestsHTTP2

/// A frame as a peer sends it, valid or not, written without `FrameWriter`.
struct WireFrame {
    var bytes: [UInt8]

    init(
        _ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = [], length: Int? = nil
    ) {
        let length = length ?? payload.count
        bytes = [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
        bytes += WireFrame.number(stream) + payload
    }

    /// The four bytes of a number in network byte order.
    static func number(_ number: UInt32) -> [UInt8] {
        [UInt8(number >> 24), UInt8(number >> 16 & 0xFF), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
    }

    static func data(_ content: [UInt8], on stream: UInt32, ends: Bool = false) -> [UInt8] {
        WireFrame(0, flags: ends ? 1 : 0, stream: stream, content).bytes
    }

    static func paddedData(_ content: [UInt8], padding: UInt8, on stream: UInt32, ends: Bool = false) -> [UInt8] {
        let payload = [padding] + content + [UInt8](repeating: 0, count: Int(padding))
        return WireFrame(0, flags: ends ? 9 : 8, stream: stream, payload).bytes
    }

    static func headers(_ block: [UInt8], on stream: UInt32, ends: Bool = false, endsBlock: Bool = true) -> [UInt8] {
        WireFrame(1, flags: (ends ? 1 : 0) | (endsBlock ? 4 : 0), stream: stream, block).bytes
    }

    static func continuation(_ block: [UInt8], on stream: UInt32, endsBlock: Bool) -> [UInt8] {
        WireFrame(9, flags: endsBlock ? 4 : 0, stream: stream, block).bytes
    }

    static func resetStream(_ stream: UInt32, _ code: UInt32 = 8) -> [UInt8] {
        WireFrame(3, stream: stream, number(code)).bytes
    }

    static func settings(_ values: [(UInt16, UInt32)] = []) -> [UInt8] {
        WireFrame(4, values.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] + number($1) }).bytes
    }

    static let settingsAcknowledgement = WireFrame(4, flags: 1).bytes

    static func ping(_ opaque: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8], isAcknowledgement: Bool = false) -> [UInt8] {
        WireFrame(6, flags: isAcknowledgement ? 1 : 0, opaque).bytes
    }

    static func goAway(_ last: UInt32, _ code: UInt32 = 0, _ text: String = "") -> [UInt8] {
        WireFrame(7, number(last) + number(code) + Array(text.utf8)).bytes
    }

    static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
        WireFrame(8, stream: stream, number(increment)).bytes
    }
}

/// The frames, or the error, that a reader finds in bytes that arrive in pieces.
struct FrameReading: Equatable {
    /// The frames; parts of one DATA frame are joined, and have no range.
    var frames: [Frame] = []
    /// The content of all DATA frames.
    var content: [UInt8] = []
    var blocks: [[UInt8]] = []
    var error: HTTP2Error?

    init(_ bytes: [UInt8], as role: HTTP2Role = .client, in pieces: [Range<Int>]? = nil) {
        var reader = FrameReader(role)
        var joined: Frame.DataPart?
        do throws(HTTP2Error) {
            for piece in pieces ?? [0..<bytes.count] {
                var position = 0
                let input = Array(bytes[piece])
                while let frame = try reader.next(in: input.span, at: &position) {
                    switch frame {
                    case .data(let part):
                        content += input[part.range]
                        let whole = joined ?? part
                        joined = part.countedBytes < part.remainingBytes ? whole : nil
                        if joined == nil { frames.append(.data(whole.asWhole(endingWith: part))) }
                    case .headers:
                        blocks.append(reader.block)
                        frames.append(frame)
                    default: frames.append(frame)
                    }
                }
                precondition(position == input.count, "all bytes are consumed")
            }
        } catch {
            self.error = error
        }
    }

    /// The ways to split `count` bytes: into two at each offset below 300, and at all of these offsets.
    static func splits(of count: Int) -> [[Range<Int>]] {
        let offsets = 1..<max(min(count, 300), 1)
        let singly = offsets.map { $0 - 1..<$0 } + [offsets.upperBound - 1..<count]
        return offsets.map { [0..<$0, $0..<count] } + [singly]
    }
}

extension Frame.DataPart {
    /// The whole frame that this first part begins.
    fileprivate func asWhole(endingWith last: Frame.DataPart) -> Frame.DataPart {
        Frame.DataPart(
            stream: stream, range: 0..<0, countedBytes: remainingBytes, remainingBytes: remainingBytes,
            isEmptyFrame: last.isEmptyFrame, endsStream: last.endsStream)
    }
}
