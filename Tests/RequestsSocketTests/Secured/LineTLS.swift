import Requests
import RequestsPOSIX
import RequestsTLS
import TestSupport

/// TLS for one connection to a scripted peer, which only the script's thread uses.
final class LineTLS: @unchecked Sendable {  // one thread, as above
    /// The way in which the records of the peer are sent.
    struct Plan: Sendable {
        /// After this many bytes of records, nothing more is sent.
        var remaining: @Sendable (_ connection: Int) -> Int = { _ in .max }
        /// Whether the connection then ends, and does not only stall.
        var ends = false
        /// Is called when it ends.
        var onEnd: @Sendable () -> Void = {}
        /// Is called before each send.
        var onSend: @Sendable () -> Void = {}
        /// The maximum number of bytes in one send; a pause of 5 ms follows each.
        var piece = Int.max
    }

    private var stream: TLSStream?
    /// The TLS below ``stream``, if the peer is a proxy and the origin server behind it.
    private var outer: TLSStream?
    private var start: ((LineTLS, TLSContext) -> Void)?
    private(set) var needed: Direction?
    private(set) var hasFailed = false

    /// The result of the handshake; nil without TLS.
    var negotiation: TLSConfiguration.Negotiation? { stream?.information }

    /// Sets the function that ``secure(_:)`` calls.
    func onSecuring(_ start: @escaping (LineTLS, TLSContext) -> Void) { self.start = start }

    /// Performs a handshake in the middle of a script: over the socket, or over the TLS that exists.
    func secure(_ context: TLSContext) { start?(self, context) }

    func begin(_ context: TLSContext, over transport: any TLSTransport) {
        outer = stream
        stream = try? TLSStream(server: context, over: outer ?? transport)
        hasFailed = stream == nil
    }

    /// Continues the handshake, and returns the direction to wait for; nil at its end.
    func handshake() -> Direction? {
        do {
            needed = try stream?.handshake().map(\.direction)
        } catch {
            hasFailed = true
            needed = nil
        }
        return needed
    }

    /// Sends a KeyUpdate of TLS 1.3, to which the client must respond with one; the next send sends what is pending.
    ///
    /// `below` updates the keys of the outer TLS, if there are two.
    func updateKeys(below: Bool = false) {
        _ = try? (below ? outer : stream)?.updateKeys()
    }

    /// Sends a HelloRequest of TLS 1.2, with which a server requests a renegotiation.
    func requestRenegotiation() {
        guard let stream,
            let clear = NativeFunctions.find("SSL_clear_options", as: NativeFunctions.OfSSLAndOptions.self),
            let renegotiate = NativeFunctions.find("SSL_renegotiate", as: NativeFunctions.OfSSL.self),
            let handshake = NativeFunctions.find("SSL_do_handshake", as: NativeFunctions.OfSSL.self)
        else { return }
        _ = clear(stream.ssl, 1 << 30)  // SSL_OP_NO_RENEGOTIATION
        if renegotiate(stream.ssl) == 1 { _ = handshake(stream.ssl) }
    }

    /// Sends close_notify.
    func end() { stream?.shutdown() }

    func send(_ bytes: UnsafeRawBufferPointer, to socket: borrowing Socket) throws -> TransferResult {
        guard let stream else { return try socket.send(bytes) }
        return result(try stream.write(bytes))
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer, from socket: borrowing Socket) throws -> TransferResult {
        guard let stream else { return try socket.receive(into: buffer) }
        var received = try stream.read(into: buffer)
        while received == .needs(.none) { received = try stream.read(into: buffer) }
        return result(received)
    }

    private func result(_ result: TLSTransferResult) -> TransferResult {
        needed = result.direction
        return result.transfer
    }
}

/// The socket of a line below its TLS, with the limits of a plan.
final class LineTransport: TLSTransport {
    private let socket: ((borrowing Socket) -> Void) -> Void
    private let plan: LineTLS.Plan
    private var remaining: Int
    private var hasEnded = false

    init(_ plan: LineTLS.Plan, number: Int, _ socket: @escaping ((borrowing Socket) -> Void) -> Void) {
        self.plan = plan
        self.socket = socket
        remaining = plan.remaining(number)
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        var result: Result<TransferResult, SystemError> = .success(.end)
        socket { socket in result = Result { () throws(SystemError) in try socket.receive(into: buffer) } }
        return try result.get()
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult {
        plan.onSend()
        // A stalled peer pretends to have sent the rest.
        if remaining == 0 {
            end()
            return .bytes(bytes.count)
        }
        var result: Result<TransferResult, SystemError> = .success(.end)
        let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(min(remaining, plan.piece)))
        socket { socket in
            result = Result { () throws(SystemError) in try socket.send(part) }
            if plan.piece < .max { try? socket.waitInPlace(for: .reading, by: .after(.milliseconds(5))) }
        }
        guard case .bytes(let count) = try result.get() else { return try result.get() }
        remaining -= remaining == .max ? 0 : count
        if remaining == 0 { end() }
        return .bytes(count)
    }

    private func end() {
        guard plan.ends, !hasEnded else { return }
        hasEnded = true
        socket { socket in socket.shutDown(.both) }
        plan.onEnd()
    }

    var hasPendingBytes: Bool { false }
}
