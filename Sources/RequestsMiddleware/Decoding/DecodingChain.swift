internal import RequestsPOSIX

/// The decoders for the codings of one body, starting with the coding that was applied last, with limits.
///
/// They decode one piece at a time and never ahead, so each coding stores one piece. The chain never waits and does not
/// depend on tasks.
struct DecodingChain: ~Copyable, @unchecked Sendable {  // it owns the memory that it points to
    enum Outcome {
        case piece
        /// All bytes have been decoded.
        case needsMore
        /// Much work has been done; other tasks should run before the next step.
        case yield
    }

    /// A place at which a body may end.
    enum End {
        /// Only after the end of its codings.
        case complete
        /// After the end of its codings, or before the first byte.
        ///
        /// Servers name the coding of an error response even if they omit its body.
        case completeOrEmpty
        /// Anywhere: an event stream has no end, and its reader discards an incomplete event.
        case anywhere
    }

    /// The maximum number of bytes decoded by one step.
    private static var pieceSize: Int { 64 << 10 }
    /// The number of bytes read and written after which other tasks should run.
    private static var workBudget: Int { 1 << 20 }
    /// The cost of a call of a decoder, in bytes; it makes many short members use up the budget too.
    private static var callCost: Int { 64 }

    private var stages: [DecodingStage]
    private let limits: ContentDecoding.Limits
    private let end: End
    private var work = 0
    // The memory for the latest piece.
    private let buffer: UnsafeMutableRawBufferPointer
    private var count = 0

    /// Creates a chain for at least one coding, in the order in which they were applied; `names` are the server's
    /// names.
    ///
    /// - Throws: `RequestError` if there is not enough memory.
    init(
        _ codings: [ContentCoding], named names: [String], limits: ContentDecoding.Limits,
        until end: End = .complete
    ) throws(RequestError) {
        var stages: [DecodingStage] = []
        for (coding, name) in zip(codings, names).reversed() {
            guard let decoder = coding.makeDecoder() else {
                throw RequestError(.other, detail: "out of memory for the \(name) decoder")
            }
            stages.append(DecodingStage(name: name, decoder: decoder))
        }
        self.stages = stages
        self.limits = limits
        self.end = end
        buffer = .allocate(byteCount: Self.pieceSize, alignment: 16)
    }

    deinit {
        buffer.deallocate()
    }

    /// The latest decoded piece; the next step overwrites it.
    var piece: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<count]) }

    /// The number of encoded bytes of the body that have been decoded.
    var encodedCount: Int { stages[0].read }

    /// Adds the next bytes of the body.
    ///
    /// Call it only when a step has returned `needsMore`.
    mutating func put(_ bytes: Data) {
        stages[0].put(bytes)
    }

    /// Decodes one piece.
    ///
    /// - Throws: `RequestError` with `protocolViolation` for bytes that are not valid data of the coding, or with
    ///   `tooLarge` over a limit.
    mutating func step() throws(RequestError) -> Outcome {
        switch try step(stages.count - 1, into: buffer) {
        case .piece(let count):
            self.count = count
            return .piece
        case .needsMore: return .needsMore
        case .yield:
            work = 0
            return .yield
        }
    }

    /// Checks that the codings are complete at the end of the body.
    ///
    /// - Throws: `RequestError` with `protocolViolation` if a coding is truncated.
    func finish() throws(RequestError) {
        switch end {
        case .complete: break
        case .completeOrEmpty where encodedCount > 0: break
        case .completeOrEmpty, .anywhere: return
        }
        for stage in stages where !stage.decoder.isAtEnd {
            throw RequestError(ContentCodingError(coding: stage.name, problem: .truncated, offset: stage.read))
        }
    }

    private enum StageOutcome {
        case piece(Int)
        case needsMore
        case yield
    }

    /// Decodes one piece with the coding at `index`, reading pieces of the previous coding.
    private mutating func step(
        _ index: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(RequestError) -> StageOutcome {
        while true {
            while !stages[index].needsInput {
                if work >= Self.workBudget { return .yield }
                let written = try decode(index, into: buffer)
                if written > 0 { return .piece(written) }
            }
            guard index > 0 else { return .needsMore }
            let between = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
            defer { between.deallocate() }
            switch try step(index - 1, into: between) {
            case .piece(let count): stages[index].put(Data(between[..<count]))
            case .needsMore: return .needsMore
            case .yield: return .yield
            }
        }
    }

    private mutating func decode(
        _ index: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(RequestError) -> Int {
        let (read, written) = try stages[index].decode(into: buffer)
        work += read + written + Self.callCost
        // The limit also applies between two codings: data that expands there may decode to nothing, but costs work.
        guard stages[index].written <= limits.bodySize else {
            throw RequestError(
                .tooLarge(limit: limits.bodySize),
                detail: "decoded \(stages[index].name) data is longer than \(ErrorText.bytes(limits.bodySize))")
        }
        let allowed = limits.size(for: encodedCount)
        guard stages[index].written <= allowed else {
            throw RequestError(
                .tooLarge(limit: allowed),
                detail: "\(ErrorText.bytes(encodedCount)) of \(stages[index].name) data decode to over "
                    + "\(limits.ratio) times as many")
        }
        return written
    }
}

/// One coding of a chain: its decoder and the input that it has not decoded.
private struct DecodingStage: Sendable {
    let name: String
    let decoder: any CodingDecoder
    private var input = Data()
    /// Whether the decoder produces nothing before it receives more input.
    private(set) var needsInput = true
    private(set) var read = 0
    private(set) var written = 0

    init(name: String, decoder: any CodingDecoder) {
        self.name = name
        self.decoder = decoder
    }

    mutating func put(_ bytes: Data) {
        input = bytes
        needsInput = bytes.isEmpty
    }

    mutating func decode(into buffer: UnsafeMutableRawBufferPointer) throws(RequestError) -> (read: Int, written: Int) {
        let result: (read: Int, written: Int)
        do throws(CodingFault) {
            result = try input.withUnsafeBytes { bytes in
                Result { () throws(CodingFault) in try decoder.decode(bytes, into: buffer) }
            }.get()
        } catch {
            let offset = read + error.read
            throw RequestError(ContentCodingError(coding: name, problem: .damaged(error.problem), offset: offset))
        }
        let isStuck = result.read == 0 && result.written == 0
        read += result.read
        written &+= result.written
        input = input.dropFirst(result.read)
        needsInput = input.isEmpty && result.written < buffer.count
        guard !isStuck || needsInput else {
            throw RequestError(
                ContentCodingError(coding: name, problem: .damaged("the decoder made no progress"), offset: read))
        }
        return result
    }
}
