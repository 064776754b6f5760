import Requests
import RequestsHTTP2

/// The parts of a response that have arrived on an HTTP/2 stream, and that its exchange has not taken.
struct StreamArrivals: ~Copyable, Sendable {
    /// The end of a response.
    enum End: Sendable {
        case none
        case complete
        case failed(RequestError)
    }

    /// The heads of responses, interim ones included.
    var heads: [ResponseEvent] = []
    var body: [UInt8] = []
    var trailers = Header.empty
    private(set) var end = End.none
    /// Whether the peer has reset the stream, so that it reads nothing more of the request.
    private(set) var isReset = false
    /// Whether the peer has reset it only because it needs no more of the request (RFC 9113 §8.1).
    private(set) var isStopped = false
    /// The reason why the stream ended before the response; nil if it has not, or if the connection has failed.
    private(set) var refusal: StreamRefusal?
    /// The number of body bytes and other events that have arrived and were not taken.
    var count = 0

    /// Whether the response has ended, or the stream has failed.
    var hasEnded: Bool { if case .none = end { false } else { true } }

    mutating func add(_ head: ResponseEvent) {
        heads.append(head)
        count += 1
    }

    /// Reserves memory for a body of `count` bytes.
    mutating func reserveBody(_ count: Int) {
        body.reserveCapacity(count)
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        body.append(contentsOf: bytes)
        count += bytes.count
    }

    mutating func add(_ trailers: Header) {
        self.trailers = trailers
        count += 1
    }

    mutating func complete() {
        guard !hasEnded else { return }
        end = .complete
        count += 1
    }

    /// Records that the stream has failed with `error`, unless the response has ended.
    mutating func fail(_ error: RequestError, as refusal: StreamRefusal? = nil) {
        guard !hasEnded else { return }
        end = .failed(error)
        self.refusal = refusal
        count += 1
    }

    /// Records that the peer has reset the stream.
    mutating func reset(_ error: RequestError, with code: HTTP2ErrorCode, as refusal: StreamRefusal) {
        isReset = true
        count += 1
        isStopped = code == .noError
        fail(error, as: refusal)
    }
}
