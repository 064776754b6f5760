@_spi(Lock) import Requests

extension RequestBody {
    /// Returns a replayable body that reads the input stream made by `make`, a new one for each transmission.
    ///
    /// A read may block, so it runs on its own thread and not in the concurrency pool, where other tasks continue. A
    /// read cannot be interrupted: a cancelled call returns at once, and the thread continues until its read returns.
    ///
    /// With a `length`, the body must have exactly that many bytes. `make` returns a stream that is not open.
    public static func stream(
        length: Int? = nil, _ make: @escaping @Sendable () -> sending InputStream
    ) -> RequestBody {
        .stream(length: length, isReplayable: true) { InputStreamSource(makeStream: make) }
    }

    /// Returns a body that reads `stream` and can be sent once.
    ///
    /// A redirect or retry that needs it again fails with `RequestError.Reason.bodyNotReplayable`.
    public static func stream(_ stream: sending InputStream) -> RequestBody {
        let box = InputStreamBox(stream)
        return .stream(length: nil, isReplayable: false) { InputStreamSource(makeStream: box.take) }
    }
}

extension BodyProvider {
    /// Returns a body provider for `contentType` that reads an input stream; `stream` creates a new one for each
    /// transmission.
    public static func raw(
        stream: @escaping @Sendable () -> sending InputStream, contentType: MediaType = .binary
    ) -> BodyProvider {
        raw(body: .stream(stream), contentType: contentType)
    }

    /// Returns a body provider for `contentType` that reads `stream` and can be sent once.
    public static func raw(stream: sending InputStream, contentType: MediaType = .binary) -> BodyProvider {
        raw(body: .stream(stream), contentType: contentType)
    }
}

/// A box with an input stream that can be taken only once, because it can be read only once.
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
