/// A strict HTTP/1.1 server for tests, on the loopback or a unix socket: it serves any executor, and misbehaves on order.
///
/// It exists inside ``withTestServer(serving:on:limits:behaving:_:)``. Its threads are its own: a client under test that
/// occupies every thread of the cooperative pool does not keep it from reading and writing.
public struct TestServer: Sendable {
    let state: ServerState

    /// Where the server listens.
    public let address: Address

    /// Where a server listens.
    public enum Address: Hashable, Sendable {
        /// 127.0.0.1 at a port that the system chooses; 0 before that.
        case loopback(port: Int = 0)
        /// A unix socket at a path that does not exist yet, at most 103 bytes; it is removed at the end.
        case unix(path: String)

        /// A unix socket at a new path in the folder for temporary files, in `/tmp` where that folder's path is too long.
        public static func temporarySocket() -> Address {
            let name = "requests-\(String(UInt64.random(in: .min ... .max), radix: 36)).sock"
            let path = FileManager.default.temporaryDirectory.appending(path: name).path
            return .unix(path: path.utf8.count > 103 ? "/tmp/\(name)" : path)
        }
    }

    /// A request as it arrived, by its connection and its place there: keep-alive can be judged by them.
    public struct Exchange: Sendable {
        /// The number of the server's connection, from 0 in the order in which they were accepted.
        public let connection: Int
        /// The number of the request on its connection, from 0.
        public let index: Int
        /// The method.
        public let method: HTTPMethod
        /// The request target as it was sent.
        public let target: String
        /// All fields, those of the framing included.
        public let header: Header
        /// The body without its framing, up to ``Recording/bodyBytes``; what has arrived of it while ``isComplete`` is
        /// false.
        public internal(set) var body = Data()
        /// Whether ``body`` lacks bytes that arrived, because of a limit of ``Recording``.
        public internal(set) var isBodyCut = false
        /// The fields after the body.
        public internal(set) var trailers = Header.empty
        /// Whether the request has arrived to its end.
        public internal(set) var isComplete = false
    }

    /// What the server has seen up to now.
    public struct Record: Sendable {
        var recorded: BoundedRecord<Exchange>

        init(_ recording: Recording) {
            recorded = BoundedRecord(count: recording.requests, size: recording.totalBytes)
        }

        /// The requests whose heads have arrived, in that order: the newest, within the limits of ``Recording``.
        public var exchanges: [Exchange] { recorded.elements }
        /// The number of requests whose heads have arrived, those included that ``exchanges`` no longer has.
        public var requestCount: Int { recorded.total }
        /// Connections accepted.
        public internal(set) var acceptedConnections = 0
        /// Connections that are open at this moment.
        public internal(set) var openConnections = 0
        /// Writes that waited a quarter of a second for the client to read, which shows back-pressure.
        public internal(set) var stalledWrites = 0
        /// Bytes received on all connections.
        public internal(set) var receivedBytes = 0
    }
}

extension TestServer {
    /// The URL of the server's root; for a unix socket `http://localhost`.
    public var baseURL: URL {
        switch address {
        case .loopback(let port): Self.url("http://127.0.0.1:\(port)")
        case .unix: Self.url("http://localhost")
        }
    }

    /// The port, or nil for a unix socket.
    public var port: Int? {
        if case .loopback(let port) = address { port } else { nil }
    }

    /// The path of the unix socket, or nil.
    public var socketPath: String? {
        if case .unix(let path) = address { path } else { nil }
    }

    /// What the server has seen up to now.
    public var record: Record { state.record }

    /// The requests whose heads have arrived, in that order: the newest, within the limits of ``Recording``.
    public var exchanges: [Exchange] { record.exchanges }

    /// Waits until what the server has seen satisfies `condition`, which is judged after every change.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before.
    public func waitUntil(_ condition: @escaping @Sendable (Record) -> Bool) async throws {
        try await state.waitUntil(condition)
    }

    private static func url(_ text: String) -> URL {
        guard let url = URL(string: text) else { preconditionFailure("\(text) is made of a host and a port") }
        return url
    }
}
