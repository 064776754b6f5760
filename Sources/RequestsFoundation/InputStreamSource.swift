import Dispatch

/// A body's chunks read from an input stream, which is made at the first read.
struct InputStreamSource: RequestBodySource {
    /// Makes the stream, for whoever wants to read it directly.
    let makeStream: @Sendable () throws -> sending InputStream

    private var reader: InputStreamReader?

    init(makeStream: @escaping @Sendable () throws -> sending InputStream) {
        self.makeStream = makeStream
    }

    mutating func next() async throws -> Data? {
        if let reader { return try await reader.next() }
        let reader = InputStreamReader(makeStream)
        self.reader = reader
        return try await reader.next()
    }
}

/// Reads an input stream on a queue of its own, because a read may block.
private actor InputStreamReader {
    private static let chunkSize = 64 << 10
    private let executor = QueueExecutor(label: "Requests.InputStream")
    private let makeStream: @Sendable () throws -> sending InputStream
    private var stream: OpenStream?
    private var isAtEnd = false

    init(_ makeStream: @escaping @Sendable () throws -> sending InputStream) {
        self.makeStream = makeStream
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func next() throws -> Data? {
        if isAtEnd { return nil }
        let stream = try stream ?? OpenStream(makeStream())
        self.stream = stream
        guard let chunk = try stream.read(atMost: Self.chunkSize) else {
            isAtEnd = true
            self.stream = nil
            return nil
        }
        return chunk
    }
}

/// An open input stream, closed when this value goes away.
private final class OpenStream {
    private let stream: InputStream

    init(_ stream: InputStream) {
        self.stream = stream
        stream.open()
    }

    deinit { stream.close() }

    /// The next bytes; nil at the end.
    func read(atMost count: Int) throws -> Data? {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            let result = buffer.baseAddress.map { stream.read($0, maxLength: buffer.count) } ?? 0
            failed = result < 0
            initializedCount = max(0, result)
        }
        if failed { throw stream.streamError ?? CocoaError(.fileReadUnknown) }
        return bytes.isEmpty ? nil : Data(bytes)
    }
}

/// Runs an actor's jobs on a serial queue, so that they may block.
private final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
