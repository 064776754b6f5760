@_spi(Lock) import Requests

extension RequestBody {
    /// A replayable body of what the input stream reads that `make` gives for each sending.
    ///
    /// A read may block, so it happens on a thread of its own, never on one of the concurrency pool's: other tasks go on
    /// meanwhile. Such a read cannot be interrupted; a cancelled call returns, and the thread when its read does.
    ///
    /// With a `length` the body must have exactly that many bytes. The stream that `make` gives is not opened yet.
    public static func stream(
        length: Int? = nil, _ make: @escaping @Sendable () -> sending InputStream
    ) -> RequestBody {
        .stream(length: length, replayable: true) { InputStreamSource(makeStream: make) }
    }

    /// A body of what `stream` reads, which can be sent once.
    ///
    /// A redirect or retry that needs it again fails with `RequestError.Reason.bodyNotReplayable`.
    public static func stream(_ stream: sending InputStream) -> RequestBody {
        let box = InputStreamBox(stream)
        return .stream(length: nil, replayable: false) { InputStreamSource(makeStream: box.take) }
    }
}

extension BodyProvider {
    /// What the input stream reads that `stream` makes for each sending, which is of `contentType`.
    public static func raw(
        stream: @escaping @Sendable () -> sending InputStream, contentType: MediaType = .binary
    ) -> BodyProvider {
        body(.stream(stream), contentType: contentType)
    }

    /// What `stream` reads, which is of `contentType`: a body that can be sent once.
    public static func raw(stream: sending InputStream, contentType: MediaType = .binary) -> BodyProvider {
        body(.stream(stream), contentType: contentType)
    }
}

/// Holds an input stream that can be read once, and gives it away once.
private final class InputStreamBox: Sendable {
    private let stream: Lock<InputStream?>

    init(_ stream: sending InputStream) {
        self.stream = Lock(stream)
    }

    func take() throws -> sending InputStream {
        guard let stream = stream.withLock({ $0.take() }) else { throw RequestError(.bodyNotReplayable) }
        return stream
    }
}
