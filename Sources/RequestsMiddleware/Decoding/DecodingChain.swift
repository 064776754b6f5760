internal import RequestsPOSIX

/// Undoes the codings of one body, the last one applied first, piece by piece and within limits.
///
/// Nothing is decoded ahead: what is held is one piece of each coding. It waits for nothing and knows no tasks.
struct DecodingChain: ~Copyable, @unchecked Sendable {  // the memory it points to is its own
    /// How far it came.
    enum Step {
        /// There is a ``piece``.
        case piece
        /// All that was put in has been decoded.
        case needsMore
        /// Much was done: others should run before it goes on.
        case tired
    }

    /// Bytes that are decoded at once.
    private static var pieceSize: Int { 64 << 10 }
    /// Bytes read and written after which others should run.
    private static var stint: Int { 1 << 20 }
    /// What a call of a decoder counts for at least: many short members are work, too.
    private static var callCost: Int { 64 }

    private var stages: [DecodingStage]
    private let limits: ContentDecoding.Limits
    private var effort = 0
    // Memory for the last piece, which is decoded into it.
    private let room: UnsafeMutableRawBufferPointer
    private var count = 0

    /// A chain for `codings`, at least one, in the order in which they were applied, as the server named them.
    ///
    /// - Throws: `RequestError` when there is no memory for it.
    init(
        _ codings: [ContentCoding], named names: [String], limits: ContentDecoding.Limits
    ) throws(RequestError) {
        var stages: [DecodingStage] = []
        for (coding, name) in zip(codings, names).reversed() {
            guard let decoder = coding.makeDecoder() else {
                throw RequestError(.other, detail: "no memory to undo the content coding \(name)")
            }
            stages.append(DecodingStage(name: name, decoder: decoder))
        }
        self.stages = stages
        self.limits = limits
        room = .allocate(byteCount: Self.pieceSize, alignment: 16)
    }

    deinit {
        room.deallocate()
    }

    /// What was decoded last; another step puts something else in its place.
    var piece: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: room[..<count]) }

    /// How many bytes of the body, as it was sent, have been decoded.
    var encodedCount: Int { stages[0].read }

    /// Gives it the next bytes of the body, when a step has asked for them.
    mutating func put(_ bytes: Data) {
        stages[0].put(bytes)
    }

    /// Decodes one piece.
    ///
    /// - Throws: `RequestError`: `protocolViolation` for bytes that are none of the coding, `tooLarge` over a limit.
    mutating func step() throws(RequestError) -> Step {
        switch try step(stages.count - 1, into: room) {
        case .piece(let count):
            self.count = count
            return .piece
        case .needsMore: return .needsMore
        case .tired:
            effort = 0
            return .tired
        }
    }

    /// Takes note that the body has ended.
    ///
    /// A body without a byte has not: whoever declares that there is no content is not decoded at all.
    ///
    /// - Throws: `RequestError` with `protocolViolation` when a coding has not come to its end.
    func finish() throws(RequestError) {
        for stage in stages where !stage.decoder.isAtEnd {
            throw RequestError(ContentCodingError(coding: stage.name, problem: .endsEarly, offset: stage.read))
        }
    }

    private enum Outcome {
        case piece(Int)
        case needsMore
        case tired
    }

    /// Decodes one piece of the coding number `index`, of pieces of the one before it.
    private mutating func step(
        _ index: Int, into room: UnsafeMutableRawBufferPointer
    ) throws(RequestError) -> Outcome {
        while true {
            while !stages[index].isDry {
                if effort >= Self.stint { return .tired }
                let written = try decode(index, into: room)
                if written > 0 { return .piece(written) }
            }
            guard index > 0 else { return .needsMore }
            let between = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
            defer { between.deallocate() }
            switch try step(index - 1, into: between) {
            case .piece(let count): stages[index].put(Data(between[..<count]))
            case .needsMore: return .needsMore
            case .tired: return .tired
            }
        }
    }

    private mutating func decode(
        _ index: Int, into room: UnsafeMutableRawBufferPointer
    ) throws(RequestError) -> Int {
        let (read, written) = try stages[index].decode(into: room)
        effort += read + written + Self.callCost
        // Between two codings as well: what is blown up there may be nothing in the end, and was work all the same.
        guard stages[index].written <= limits.bodySize else {
            throw RequestError(.tooLarge(limit: limits.bodySize), detail: "\(stages[index].name), decoded")
        }
        let allowed = limits.size(for: encodedCount)
        guard stages[index].written <= allowed else {
            throw RequestError(
                .tooLarge(limit: allowed),
                detail: "\(stages[index].name): \(encodedCount) bytes decode to more than \(limits.ratio) times as many"
            )
        }
        return written
    }
}

/// One coding of a chain: its decoder and what has not been decoded yet.
private struct DecodingStage: Sendable {
    let name: String
    let decoder: any CodingDecoder
    private var input = Data()
    /// Whether there is nothing to be had before more is put in.
    private(set) var isDry = true
    private(set) var read = 0
    private(set) var written = 0

    init(name: String, decoder: any CodingDecoder) {
        self.name = name
        self.decoder = decoder
    }

    mutating func put(_ bytes: Data) {
        input = bytes
        isDry = bytes.isEmpty
    }

    mutating func decode(into room: UnsafeMutableRawBufferPointer) throws(RequestError) -> (read: Int, written: Int) {
        let result: (read: Int, written: Int)
        do throws(CodingFault) {
            result = try input.withUnsafeBytes { bytes in
                Result { () throws(CodingFault) in try decoder.decode(bytes, into: room) }
            }.get()
        } catch {
            let offset = read + error.read
            throw RequestError(ContentCodingError(coding: name, problem: .damaged(error.problem), offset: offset))
        }
        let isStuck = result.read == 0 && result.written == 0
        read += result.read
        written &+= result.written
        input = input.dropFirst(result.read)
        isDry = input.isEmpty && result.written < room.count
        guard !isStuck || isDry else {
            throw RequestError(ContentCodingError(coding: name, problem: .damaged("no way on"), offset: read))
        }
        return result
    }
}
