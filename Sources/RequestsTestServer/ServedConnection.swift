import RequestsPOSIX

/// The service of one connection, which performs its exchanges.
protocol ConnectionService {
    /// The instant by which the connection must have been served again.
    var deadline: Deadline { get }

    /// Serves the requests that have arrived; returns false if the connection is to be closed.
    mutating func run() -> Bool
}

/// A connection with its service, which any thread can continue.
final class ServedConnection: Sendable {
    let number: Int
    private let connection: ServerConnection
    private let server: ServerState
    /// The instant by which the handshake of TLS must have ended.
    private let handshakeDeadline: Deadline
    /// Nil until the handshake of TLS has ended.
    ///
    /// Only the thread that serves the connection uses it; `ServiceThreads` passes it from one to the next.
    nonisolated(unsafe) private var service: (any ConnectionService)?  // see above

    init(_ connection: ServerConnection, _ server: ServerState) {
        number = connection.index
        self.connection = connection
        self.server = server
        // A handshake begins like a head.
        handshakeDeadline = server.limits.headTime.map(Deadline.after) ?? .distantFuture
        service = server.security == nil ? Self.service(of: connection, server, nil) : nil
    }

    var socket: Socket {
        _read { yield connection.socket }
    }

    /// The instant by which the connection must have been served again.
    var deadline: Deadline { service?.deadline ?? handshakeDeadline }

    /// Serves the requests that have arrived; returns false if the connection is to be closed.
    func serve(on worker: Worker) -> Bool {
        connection.worker = worker
        defer { connection.worker = nil }
        if service == nil, let security = server.security {
            guard let negotiation = try? connection.secure(security.context, by: handshakeDeadline) else {
                return false
            }
            service = Self.service(of: connection, server, negotiation)
        }
        return service?.run() ?? false
    }

    /// Returns the service of the version of HTTP that the client uses; nil if the system cannot serve it.
    private static func service(
        of connection: ServerConnection, _ server: ServerState, _ negotiation: TLSConfiguration.Negotiation?
    ) -> (any ConnectionService)? {
        guard let settings = server.version.http2Settings,
            negotiation.map({ $0.applicationProtocol == "h2" }) ?? true
        else { return HTTP1Service(connection, server, negotiation) }
        return try? HTTP2Service(connection, server, settings, negotiation)
    }

    /// Cancels the exchange in progress; can be called on any thread.
    func stop() { connection.stop() }
}

/// A thread that serves connections, with its term and its memory.
///
/// Only this thread uses it.
final class Worker {
    let server: ServerState
    private let threads: ServiceThreads
    /// The term in which this thread leads or has led.
    var term: LeaderTerm?
    /// Memory for bytes that are received, before they belong to a connection.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)

    init(_ threads: ServiceThreads, _ server: ServerState) {
        self.threads = threads
        self.server = server
    }

    /// The last date of a response, with its text.
    private var lastDate = (date: HTTPDate(secondsSince1970: 0), text: "")

    deinit { buffer.deallocate() }

    func text(of date: HTTPDate) -> String {
        if lastDate.date != date || lastDate.text.isEmpty { lastDate = (date, date.description) }
        return lastDate.text
    }

    /// Passes the lead on before the thread waits, if it leads.
    func prepareToWait() {
        guard let term else { return }
        // Without another thread it keeps the lead, and other connections wait too.
        if threads.passLead(of: term, server) { self.term = nil }
    }
}

/// A signal that ends the waits of all threads of a server, and that is never cleared.
final class StopSignal: Sendable {
    let wake: WakeSignal

    init() throws(SystemError) {
        wake = try WakeSignal()
    }
}
