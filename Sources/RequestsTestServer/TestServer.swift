/// A strict test server for HTTP/1.1 and HTTP/2 on the loopback or a unix socket that serves any executor and injects
/// faults.
///
/// `withTestServer(serving:on:limits:behaving:_:)` runs it. It has its own threads, so it also works while a client
/// under test occupies every thread of the cooperative pool.
public struct TestServer: Sendable {
    let state: ServerState

    /// The address on which the server listens.
    public let address: Address

    /// An address on which a server listens.
    @nonexhaustive
    public enum Address: Hashable, Sendable {
        /// A port of 127.0.0.1; with 0, the system chooses a free port.
        case loopback(port: Int = 0)
        /// A unix socket at a path that does not exist yet, of at most 103 bytes; the file is removed at the end.
        case unix(path: String)

        /// Returns a unix socket with a new path in the temporary directory, or in `/tmp` if that path is too long.
        public static func temporarySocket() -> Address {
            let name = "requests-\(String(UInt64.random(in: .min ... .max), radix: 36)).sock"
            let path = FileManager.default.temporaryDirectory.appending(path: name).path
            // Darwin's limit; Linux permits 107 bytes.
            return .unix(path: path.utf8.count > 103 ? "/tmp/\(name)" : path)
        }
    }

    /// A received request with its connection and its position there, so that tests can check keep-alive.
    public struct Exchange: Sendable {
        /// The number of the connection, counted from 0 in the order in which connections were accepted.
        public let connection: Int
        /// The number of the request on its connection, counted from 0.
        public let index: Int
        /// The method.
        public let method: HTTPMethod
        /// The request target as it was sent.
        public let target: String
        /// All fields, including the framing fields.
        public let header: Header
        /// The result of the TLS handshake, with the certificates of the client; nil without TLS.
        public let tls: TLSConfiguration.Negotiation?
        /// The body without its framing, up to ``Recording/bodyBytes``.
        ///
        /// While it arrives, these are at most its first 64 KiB; if it ends early, the part that arrived.
        public internal(set) var body = Data()
        /// Whether ``body`` lacks received bytes because ``Recording`` limits it.
        public internal(set) var isBodyCut = false
        /// The trailer fields.
        public internal(set) var trailers = Header.empty
        /// Whether the request has been received to its end.
        public internal(set) var isComplete = false
        /// The status of the response; nil until its last byte is about to be sent, and after a fault.
        ///
        /// A client that has received the whole response always finds it here. It is recorded even if sending that
        /// byte fails, because the server cannot know whether the byte has arrived.
        public internal(set) var status: HTTPStatus?
    }

    /// The requests and connections that the server has received until now.
    public struct Record: Sendable {
        var recorded: BoundedRecord<Exchange>

        init(_ recording: Recording) {
            recorded = BoundedRecord(count: recording.requests, size: recording.totalBytes)
        }

        /// The newest requests whose heads have arrived, in order of arrival, within the limits of ``Recording``.
        public var exchanges: [Exchange] { recorded.elements }
        /// The number of requests whose heads have arrived, including those that ``exchanges`` no longer contains.
        public var requestCount: Int { recorded.total }
        /// The number of accepted connections.
        public internal(set) var acceptedConnections = 0
        /// The number of connections that are open now.
        public internal(set) var openConnections = 0
        /// The number of writes that waited a quarter of a second for the client to read, which shows back-pressure.
        package internal(set) var stalledWrites = 0
        /// The number of bytes received on all connections.
        package internal(set) var receivedBytes = 0
        /// The number of HTTP/2 streams that are open now.
        package internal(set) var openStreams = 0
        /// The largest number of streams that one connection had open at one time.
        package internal(set) var maximumStreams = 0

        mutating func changeStreams(_ change: HTTP2Connection.StreamChange) {
            openStreams += change.difference
            maximumStreams = max(maximumStreams, change.maximum)
        }
    }
}

extension TestServer {
    /// The URL of the server's root; for a unix socket, the host is `localhost`.
    public var baseURL: URL {
        switch address {
        case .loopback(let port): Self.url("\(scheme)://127.0.0.1:\(port)")
        case .unix: Self.url("\(scheme)://localhost")
        }
    }

    private var scheme: String { state.security == nil ? "http" : "https" }

    /// The port; nil for a unix socket.
    public var port: Int? {
        if case .loopback(let port) = address { port } else { nil }
    }

    /// The path of the unix socket; nil for the loopback.
    public var socketPath: String? {
        if case .unix(let path) = address { path } else { nil }
    }

    /// The requests and connections that the server has received until now.
    public var record: Record { state.record }

    /// The newest requests whose heads have arrived, in order of arrival, within the limits of ``Recording``.
    public var exchanges: [Exchange] { record.exchanges }

    /// Waits until the record satisfies `condition`, which is checked after every change.
    ///
    /// - Parameters:
    ///   - limit: The maximum time to wait; with 0 or less, the condition is checked now.
    ///   - condition: The condition.
    /// - Throws: An error that describes the received requests if the limit passes first; `CancellationError` if the
    ///   task is cancelled or the server stops first.
    public func waitUntil(
        within limit: Duration = .seconds(60), _ condition: @escaping @Sendable (Record) -> Bool
    ) async throws {
        try await state.waitUntil(within: limit, condition)
    }

    /// The error of a wait whose condition was not satisfied in time.
    package struct WaitExpired: Error, Sendable, CustomStringConvertible {
        package let limit: Duration
        /// The record at that time.
        package let record: Record

        /// The limit, and the numbers of requests and open connections.
        package var description: String {
            "the condition was not satisfied within \(limit); requests received: \(record.requestCount), "
                + "open connections: \(record.openConnections)"
        }
    }

    private static func url(_ text: String) -> URL {
        guard let url = URL(string: text) else { preconditionFailure("could not create a URL from “\(text)”") }
        return url
    }
}
