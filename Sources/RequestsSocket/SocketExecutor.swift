@_spi(Lock) import Requests
import RequestsPOSIX

/// An executor that sends HTTP/1.1 or HTTP/2 requests over POSIX sockets: TCP, or a unix socket.
///
/// ```swift
/// let executor = SocketExecutor()
/// let engine = SocketExecutor(.unix(path: "/run/engine.sock"))
/// ```
/// Copies share one pool of connections; releasing the last copy closes idle connections. There is nothing to shut
/// down. Reading and writing happen in place, on the thread that runs the calling task, which suspends only if the
/// kernel is not ready.
///
/// The executor supports http and https. For TLS it uses the system's OpenSSL, which is loaded when the first https
/// request needs it; ``Configuration/tls`` has the settings. On Apple platforms, use RequestsURLSession: there, https
/// fails with ``/Requests/RequestError/Reason/tlsUnavailable``.
///
/// The executor requests bodies without a content coding (`Accept-Encoding: identity`) unless the request has an
/// Accept-Encoding field, and delivers them as received. With RequestsMiddleware, `SocketExecutor().decodingContent()`
/// requests gzip and other codings, and decodes them.
///
/// The deadline of a request also ends streamed bodies. After `fork` without `exec`, calls in the child fail with
/// ``/Requests/RequestError/Reason/connectionFailed``.
public struct SocketExecutor: RequestExecutor {
    private let handle: PoolHandle

    /// Creates an executor with a new pool.
    ///
    /// Connections are established when requests need them.
    ///
    /// - Parameters:
    ///   - destination: The peer to connect to. An invalid unix path fails with
    ///     ``/Requests/RequestError/InvalidRequest/invalidSocketPath`` when a request is sent.
    ///   - configuration: The limits, the proxies and the TLS settings of the executor.
    public init(_ destination: Destination = .url, configuration: Configuration = Configuration()) {
        handle = PoolHandle(ConnectionPool(destination, configuration))
    }

    /// Sends `request` and returns the response.
    ///
    /// - Throws: ``/Requests/RequestError`` with the request, and a reason that is the same for every executor.
    public func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            if ForwardedExchange.signsIn(request, over: handle) {
                return try await ForwardedExchange.perform(request, over: handle)
            }
            return try await Transmissions.perform(request, over: handle)
        } catch {
            throw error.adding(request: request)
        }
    }

    /// Accepts no new requests, closes idle connections, and waits until running calls have ended.
    ///
    /// Use it before a server exits. From now on, new requests to any copy of the executor fail with
    /// ``/Requests/RequestError/Reason/executorClosed`` before anything is sent. Calls that have begun continue, also
    /// if they wait for a connection, and their redirects are followed. A streamed body is part of its call until it
    /// has been read or released. Calls that are running at `deadline` are not cancelled.
    ///
    /// - Parameter deadline: The instant until which the function waits.
    /// - Returns: Whether all calls have ended; false if `deadline` has passed, or the task was cancelled, before.
    @discardableResult
    public func drain(until deadline: ContinuousClock.Instant) async -> Bool {
        await handle.pool.drain(until: Deadline(deadline))
    }

    /// Establishes connections to the origin of `url`, so that later requests do not wait for them.
    ///
    /// The connections are kept as connections that requests have used, so
    /// ``SocketExecutor/Configuration/maximumIdleConnectionsPerOrigin`` and
    /// ``SocketExecutor/Configuration/idleTimeout`` apply. Idle connections count towards `count`.
    ///
    /// - Parameters:
    ///   - url: A URL of the origin, of which scheme, host and port are used.
    ///   - count: The number of idle connections that are open when the function returns, if the limits allow as many;
    ///     the default is 1.
    ///   - timeout: The time limit; the default is 10 s, nil means none.
    /// - Throws: ``/Requests/RequestError`` if a connection cannot be established; others remain open.
    public func connect(
        to url: URL, count: Int = 1, timeout: Duration? = .seconds(10)
    ) async throws(RequestError) {
        try await handle.pool.warm(url, count, within: timeout)
    }

    /// Replaces the settings of TLS connections to origin servers, as when certificates or keys have changed.
    ///
    /// All copies of the executor use the new settings for new connections. Idle connections with the former settings
    /// are not used again; connections that are in use or being established are closed after their exchange.
    ///
    /// - Parameters:
    ///   - configuration: The new settings; nil reads the files of the former ones again.
    ///   - timeout: The time limit for reading files; the default is 10 s, nil means none.
    /// - Throws: ``/Requests/RequestError`` if the settings are invalid or a file of them cannot be read; then the
    ///   former settings remain in use.
    public func reloadTLS(
        _ configuration: TLSConfiguration? = nil, timeout: Duration? = .seconds(10)
    ) async throws(RequestError) {
        try await handle.pool.reloadTLS(configuration, within: timeout)
    }

    /// The number of connections that are open or being established, and the number of idle ones.
    package var connections: (open: Int, idle: Int) {
        let counts = handle.pool.counts
        return (counts.open, counts.idle)
    }

    /// Whether the executor accepts no new requests; for tests.
    package var isDraining: Bool { handle.pool.state.withLock { $0.isDraining } }

    /// The TCP keep-alive of an idle connection, nil if none is idle; for tests.
    package var idleKeepAlive: (idle: Int32, interval: Int32, count: Int32, isEnabled: Bool)? {
        handle.pool.state.withLock { $0.ledger.lanes.lazy.compactMap(\.idle.first).first?.channel.socket.keepAlive }
    }

    /// The instant until which an idle connection may be used, nil if none is idle; for tests.
    package var idleLimit: Deadline? {
        handle.pool.state.withLock { $0.ledger.lanes.lazy.compactMap(\.idle.first).first?.idleUntil }
    }

    /// The number of calls that wait for a connection; for tests.
    package var waiters: Int { handle.pool.counts.waiting }
}

extension SocketExecutor {
    /// The traits of the executor: `streamsEncodedBodies`.
    public var traits: ExecutorTraits { .streamsEncodedBodies }
}

extension SocketExecutor: CountsConnections {
    package var connectionCounts: [ConnectionCount] { handle.pool.countsByOrigin }
}

extension SocketExecutor: CustomStringConvertible, CustomReflectable {
    /// The name of the type, the number of connections that are open or being established, and the number of idle ones.
    public var description: String { "SocketExecutor (connections: \(connections.open), idle: \(connections.idle))" }

    /// The mirror that `dump` prints, without the connections of the executor.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
