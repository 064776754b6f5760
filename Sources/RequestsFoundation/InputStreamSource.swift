import Dispatch

/// A request-body source that reads chunks from an input stream, which is made at the first read.
struct InputStreamSource: RequestBody.Source {
    /// A function that creates the stream.
    ///
    /// `InputStream.reading(_:)` uses it to read the stream directly.
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

/// An actor that reads an input stream on its own queue, because a read may block.
private actor InputStreamReader {
    private static let chunkSize = 64 << 10
    private let executor = InputStreamQueueExecutor(label: "Requests.InputStream")
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

/// An open input stream, which is closed when this value is released.
private final class OpenStream {
    private let stream: InputStream

    init(_ stream: InputStream) {
        self.stream = stream
        stream.open()
    }

    deinit { stream.close() }

    /// Returns the next bytes; nil at the end.
    func read(atMost count: Int) throws -> Data? {
        var failed = false
        // Uninitialized, because the stream overwrites the bytes.
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            let result = buffer.baseAddress.map { stream.read($0, maxLength: buffer.count) } ?? 0
            failed = result < 0
            initializedCount = max(0, result)
        }
        if failed { throw stream.streamError ?? CocoaError(.fileReadUnknown) }
        return bytes.isEmpty ? nil : Data(bytes)
    }
}

/// A serial executor that runs an actor's jobs on a dispatch queue, so that they may block.
private final class InputStreamQueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        // An escaping closure cannot capture the noncopyable job.
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
