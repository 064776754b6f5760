import Requests
import RequestsHTTP2

/// Reads the output of a connection as the other role does, and checks the order of its frames.
struct OutputReader: ~Copyable {
    struct InvalidOutput: Error {
        let frame: Frame
    }

    private let sender: HTTP2Role
    private var reader: FrameReader
    private var decoder = HPACKDecoder()
    /// Whether more of the message can follow, for each stream that has begun.
    private var isOpen: [StreamID: Bool] = [:]
    private var hasFailed = false

    init(sentBy sender: HTTP2Role) {
        self.sender = sender
        reader = FrameReader(sender == .client ? .server : .client)
    }

    /// Returns the frames in the next bytes of the output.
    ///
    /// - Throws: The error of the reader or the decoder; ``InvalidOutput`` if the connection may not send the frame.
    mutating func read(_ bytes: [UInt8]) throws -> [Frame] {
        var frames: [Frame] = []
        var position = 0
        while let frame = try reader.next(in: bytes.span, at: &position) {
            guard !hasFailed, try isValid(frame) else { throw InvalidOutput(frame: frame) }
            frames.append(frame)
        }
        return frames
    }

    private mutating func isValid(_ frame: Frame) throws -> Bool {
        switch frame {
        case .headers(let stream, let endsStream):
            let block = reader.block
            var fields: ReceivedFields?
            try decoder.decode(block.span, endsBlock: true, limit: 1 << 20, into: &fields)
            let isValid = isOpen[stream] ?? (sender == .server || stream > isOpen.keys.max() ?? 0)
            isOpen[stream] = !endsStream
            return isValid
        case .data(let part):
            let isValid = isOpen[part.stream] == true
            isOpen[part.stream] = !part.endsStream
            return isValid
        case .resetStream(let stream, _):
            // A client never resets a stream that it has not opened.
            let isValid = sender == .server || isOpen[stream] != nil
            isOpen[stream] = false
            return isValid
        case .windowUpdate(let stream, _): return sender == .server || stream == 0 || isOpen[stream] != nil
        case .goAway(let goAway):
            // GOAWAY with an error is the last frame.
            hasFailed = goAway.code != .noError
            return true
        case .ignored, .streamError: return false
        case .settings, .settingsAcknowledgement, .ping, .pingAcknowledgement: return true
        }
    }
}
