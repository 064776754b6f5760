/// Performs HTTP/1.1 requests over raw POSIX sockets: TCP, or a unix socket.
///
/// ```swift
/// let executor = SocketExecutor()
/// let engine = SocketExecutor(.unix(path: "/run/engine.sock"))
/// ```
/// It is a handle: copies share one pool of connections, and dropping the last copy closes the idle ones. There is
/// nothing to shut down. Reading and writing happen in place, on the thread that runs the calling task; only what the
/// kernel cannot do yet suspends it.
///
/// It speaks http and nothing else: https is refused with ``RequestError/Reason/unsupportedScheme`` (the executor of
/// RequestsURLSession speaks it). It asks for bodies without a content coding (`Accept-Encoding: identity`) unless the
/// request says otherwise, and hands them over as they come; `SocketExecutor().decodingContent()` asks for gzip and the
/// like, and undoes them.
///
/// A request's deadline ends streamed bodies too. After `fork` without `exec` a child's calls fail with
/// ``RequestError/Reason/connectionFailed``.
public struct SocketExecutor: RequestExecutor {
    /// Where the connections of an executor lead.
    public enum Destination: Hashable, Sendable {
        /// To the host and port of each request's URL.
        case url
        /// To the unix socket at `path`, whatever the URL's host is; Host is still the URL's.
        ///
        /// At most 107 bytes on Linux, 103 on Darwin. On Linux a leading `@` is an abstract name. Redirects to another
        /// origin than the one that sent them are refused with ``RequestError/Reason/unexpectedRedirect``: what they
        /// name is not behind this socket.
        case unix(path: String)
    }

    private let handle: PoolHandle

    /// An executor with a pool of its own.
    ///
    /// Opens nothing: connections are made when requests need them.
    public init(_ destination: Destination = .url, configuration: Configuration = Configuration()) {
        handle = PoolHandle(ConnectionPool(destination, configuration))
    }

    /// Sends `request` and gives the response.
    ///
    /// - Throws: ``RequestError`` with a reason that is the same on every executor, and the request.
    public func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            return try await Exchange(request, over: handle).run()
        } catch {
            throw error.adding(request: request)
        }
    }

    /// Sends `request` from the calling thread and waits there, when a connection is idle and the body is in memory.
    ///
    /// - Throws: ``RequestError`` with a reason that is the same on every executor.
    public func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
        try Exchange(request, over: handle).runInPlace()
    }

    /// Connections that are open or being made, and those of them that are idle; for tests.
    package var connections: (open: Int, idle: Int) {
        let counts = handle.pool.counts
        return (counts.open, counts.idle)
    }

    /// Calls that wait for a connection; for tests.
    package var waiters: Int { handle.pool.counts.waiting }
}

extension SocketExecutor: StreamsCodedBodies {}
