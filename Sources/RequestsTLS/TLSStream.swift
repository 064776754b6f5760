import CRequestsPOSIX
import Requests
package import RequestsPOSIX

/// The result of a transfer over TLS.
package enum TLSTransferResult: Equatable, Sendable {
    /// The number of bytes moved, possibly fewer than requested.
    case bytes(Int)
    /// The peer has ended its data with close_notify; only reads return this.
    case end
    /// The transfer continues when one of the directions is ready.
    ///
    /// Empty directions mean that the call has reached its work limit, and that bytes may have arrived that a wait
    /// would not report: check the time limits, then call again.
    case needs(Interest)
}

extension TLSTransferResult {
    /// The result as a socket reports it: `.wouldBlock` for a transfer that must wait for a direction.
    package var transfer: TransferResult {
        switch self {
        case .bytes(let count): .bytes(count)
        case .end: .end
        case .needs: .wouldBlock
        }
    }

    /// The direction to wait for, for a thread that can wait for only one: pending bytes are sent first.
    package var direction: Direction? {
        if case .needs(let directions) = self { directions.direction } else { nil }
    }
}

extension Interest {
    /// The direction to wait for, as in ``TLSTransferResult/direction``.
    package var direction: Direction { contains(.writing) ? .writing : .reading }
}

/// A TLS connection over a socket.
///
/// No function waits: each returns at once with the directions that it needs, and is called again when one is ready.
/// One owner uses a stream, with one call at a time; it may move between threads. After an error every call throws the
/// same error, except that data and alerts can still be received from a peer that no longer reads.
package final class TLSStream {
    let library: LoadedTLS
    package let context: TLSContext
    /// The SSL, for functions of OpenSSL that only tests call.
    package let ssl: UnsafeMutableRawPointer
    let io: UnsafeMutablePointer<rp_tls_io>
    private let carrier: Carrier
    let serverName: TLSServerName?
    private let sessionKey: TLSSessionKey?
    private let fork = ForkCount.current
    /// The failure that ended the stream; nil while it can be used.
    package internal(set) var failure: TLSError?
    /// The reason why a certificate was refused, until the handshake fails.
    var refusal: TLSError?
    /// The time range in which the server's verification is valid, in seconds since 1970; nil before the verification.
    ///
    /// A session inherits it from the connection that created it, so that resumptions in a row do not extend it.
    var validity: Range<Int>?
    /// The client's verified chain, on a server.
    var clientChain: [TLSConfiguration.Certificate] = []
    /// The bytes of a write that were accepted, but whose records have not been sent completely.
    private var acceptedBytes = 0
    /// The directions that the last receive and the last send of the stream above this one wait for (``TLSTransport``).
    package internal(set) var directionsToReceive = Interest.reading
    package internal(set) var directionsToSend = Interest.writing
    /// Whether the peer may have received bytes of a write that has not returned them yet.
    package var hasPartialWrite: Bool { acceptedBytes > 0 }

    /// Whether the handshake is complete.
    package private(set) var isEstablished = false
    /// Whether close_notify has been read.
    ///
    /// After it, the socket may seem idle until the peer closes it.
    private var hasEnded = false

    /// The carrier of the bytes; it is kept while the stream exists.
    private enum Carrier {
        case channel(Channel)
        case transport(any TLSTransport)
    }

    /// Creates the stream of a client; nothing is sent before ``handshake()``.
    ///
    /// - Parameters:
    ///   - context: The settings, which are loaded now if they have not been.
    ///   - channel: A connected socket, which the stream keeps open.
    ///   - serverName: The name that the certificate must have.
    ///   - sessionKey: The key of sessions to resume; nil resumes none. A session for another server name is not
    ///     resumed.
    /// - Throws: ``TLSError`` with ``TLSError/Problem/unavailable`` or ``TLSError/Problem/configuration``.
    package convenience init(
        _ context: TLSContext, over channel: Channel, to serverName: TLSServerName, sessionKey: TLSSessionKey? = nil
    ) throws(TLSError) {
        try self.init(context, .channel(channel), serverName, sessionKey)
    }

    /// Creates the stream of a client over a transport other than a socket.
    package convenience init(
        _ context: TLSContext, over transport: any TLSTransport, to serverName: TLSServerName,
        sessionKey: TLSSessionKey? = nil
    ) throws(TLSError) {
        try self.init(context, .transport(transport), serverName, sessionKey)
    }

    package convenience init(server context: TLSContext, over channel: Channel) throws(TLSError) {
        try self.init(context, .channel(channel), nil, nil)
    }

    /// Creates the stream of a server over a transport other than a socket.
    package convenience init(server context: TLSContext, over transport: any TLSTransport) throws(TLSError) {
        try self.init(context, .transport(transport), nil, nil)
    }

    private init(
        _ context: TLSContext, _ carrier: Carrier, _ serverName: TLSServerName?, _ sessionKey: TLSSessionKey?
    ) throws(TLSError) {
        let object = try context.object()
        let library = try context.library.functions()
        try library.enter()
        defer { library.leave() }
        guard let ssl = library.tls.pointee.SSL_new(object.address) else {
            throw TLSError(.unavailable, "could not create a TLS connection: \(library.takeErrors())")
        }
        let io = UnsafeMutablePointer<rp_tls_io>.allocate(capacity: 1)
        io.initialize(to: rp_tls_io())
        io.pointee.tls = library.tls
        guard rp_tls_attach(io, ssl, library.callbacks.method) == 1,
            serverName.map({ library.expect($0, on: ssl) }) ?? true
        else {
            library.tls.pointee.SSL_free(ssl)
            io.deallocate()
            throw TLSError(.unavailable, "could not create a TLS connection: \(library.takeErrors())")
        }
        self.library = library
        self.context = context
        self.carrier = carrier
        self.serverName = serverName
        self.sessionKey = serverName.flatMap { sessionKey?.bound(to: $0) }
        self.ssl = ssl
        self.io = io
        connect()
    }

    /// The transport below the records.
    var transport: any TLSTransport {
        switch carrier {
        case .channel(let channel): channel
        case .transport(let transport): transport
        }
    }

    /// The directions that a send over the carrier waits for.
    private var carrierDirectionsToSend: Interest {
        if case .transport(let transport) = carrier { transport.directionsToSend } else { .writing }
    }

    /// Connects the callbacks of OpenSSL to this object, which outlives the SSL.
    private func connect() {
        io.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
        io.pointee.keep = { TLSStream.keep($0, $1) }
        switch carrier {
        case .channel(let channel) where !channel.hasFaults:
            io.pointee.descriptor = channel.socket.descriptor.number
        case .channel, .transport:
            io.pointee.descriptor = -1
            io.pointee.receive = { TLSStream.receive($0, $1, $2) }
            io.pointee.transmit = { TLSStream.transmit($0, $1, $2) }
        }
        if serverName == nil {
            library.tls.pointee.SSL_set_accept_state(ssl)
        } else {
            library.tls.pointee.SSL_set_connect_state(ssl)
            // A session that the library refuses leads to a full handshake.
            if let sessionKey, let session = context.sessions.take(sessionKey, at: context.now()) {
                validity = session.validity
                _ = library.tls.pointee.SSL_set_session(ssl, session.address)
            }
        }
    }

    deinit {
        library.release { tls in
            // Otherwise SSL_free would make the session non-resumable, as it should after a failure.
            if isEstablished, failure == nil { tls.SSL_set_shutdown(ssl, 1 | 2) }
            tls.SSL_free(ssl)
        }
        free(io.pointee.pending)
        free(io.pointee.kept)
        io.deallocate()
    }
}

// MARK: Handshake

extension TLSStream {
    /// Continues the handshake.
    ///
    /// - Returns: The directions to wait for, as in ``TLSTransferResult/needs(_:)``, or nil if the handshake is
    ///   complete.
    /// - Throws: ``TLSError``; nothing of the application's data has been sent.
    package func handshake() throws(TLSError) -> Interest? {
        try begin()
        defer { library.leave() }
        if !isEstablished {
            // OpenSSL considers pending records sent. If that fails, the peer may have sent the reason.
            _ = try? flush()
            let code = rp_tls_handshake(io, ssl)
            if let interest = try interest(of: code, isHandshake: true) {
                if io.pointee.send_error != 0, !interest.isEmpty { _ = try flush() }
                return interest
            }
            try completeHandshake()
        }
        return try flush() ? nil : carrierDirectionsToSend
    }

    private func completeHandshake() throws(TLSError) {
        isEstablished = true
        if serverName != nil { try checkApplicationProtocol() }
        // TLS 1.2 sends no new ticket when a session is resumed; this one remains usable.
        guard isResumed, !isTLS13, let session = library.tls.pointee.SSL_get1_session(ssl) else { return }
        keep(session)
    }

    /// Keeps a session with a verified peer; this library now owns its reference.
    func keep(_ session: UnsafeMutableRawPointer) {
        let session = TLSSession(adopting: session, library, valid: validity ?? 0..<0)
        // A resumed connection verifies nothing again, so only a verified session may be resumed.
        guard let sessionKey, !session.validity.isEmpty, library.tls.pointee.SSL_get_verify_result(ssl) == 0,
            library.tls.pointee.SSL_SESSION_is_resumable(session.address) == 1
        else { return }
        context.sessions.insert(session, for: sessionKey)
    }
}

// MARK: Transfers

extension TLSStream {
    /// Reads the data that has arrived, after the handshake has been completed.
    ///
    /// Wait only after `.needs`: OpenSSL may keep bytes that the socket no longer has.
    ///
    /// - Parameter buffer: The memory to fill.
    /// - Returns: The number of bytes, 0 only for an empty buffer; the end of the data; or the directions to wait for.
    /// - Throws: ``TLSError``; ``TLSError/Problem/truncated`` if the peer closed the connection without close_notify,
    ///   ``TLSError/Problem/flood`` if it has sent many records without data.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(TLSError) -> TLSTransferResult {
        try begin()
        defer { library.leave() }
        guard let start = buffer.baseAddress, buffer.count > 0 else { return .bytes(0) }
        if !isEstablished, let interest = try handshake() { return .needs(interest) }
        // A peer that no longer reads may have sent the reason.
        _ = try? flush()
        var count = 0
        let code = rp_tls_read(io, ssl, start, buffer.count, &count)
        guard count > 0 else {
            if code == rp_tls_error_close_notify {
                hasEnded = true
                return .end
            }
            return .needs(try interest(of: code, isHandshake: false) ?? .reading)
        }
        // The data is delivered first; the next call throws.
        if code != rp_tls_error_close_notify { _ = try? interest(of: code, isHandshake: false) }
        rp_tls_trim(io)
        return .bytes(count)
    }

    /// Writes data of two buffers, such as a head and a body, whose beginnings share a record.
    ///
    /// The handshake is completed first.
    ///
    /// After `.needs` the next write must begin with the same bytes, and may have more: records of them may have been
    /// sent.
    ///
    /// - Returns: The number of bytes that have been passed to the socket completely, at most eight records' worth.
    package func write(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) throws(TLSError) -> TLSTransferResult {
        try begin()
        defer { library.leave() }
        guard first.count > 0 || second.count > 0 else { return .bytes(0) }
        // Not left to SSL_write, which would send data before the application protocol is checked.
        if !isEstablished, let interest = try handshake() { return .needs(interest) }
        guard try flush() else { return .needs(carrierDirectionsToSend) }
        if acceptedBytes == 0 {
            var count = 0
            let code = rp_tls_write(io, ssl, first.baseAddress, first.count, second.baseAddress, second.count, &count)
            acceptedBytes = count
            let interest = try interest(of: code, isHandshake: false)
            // Pending records are sent before new ones.
            guard try flush() else { return .needs(carrierDirectionsToSend) }
            if count == 0 { return .needs(interest ?? .writing) }
        }
        let count = acceptedBytes
        acceptedBytes = 0
        return .bytes(count)
    }

    /// Sends close_notify, if the socket accepts it; has no effect after an error.
    package func shutdown() {
        guard isEstablished, failure == nil, acceptedBytes == 0, (try? begin()) != nil else { return }
        defer { library.leave() }
        rp_tls_close(io, ssl)
        _ = rp_tls_flush(io)
    }

    /// Sends a KeyUpdate that requests one in return; peers that flood their clients do this.
    ///
    /// - Returns: The directions to wait for until the socket accepts more, or nil.
    /// - Throws: The error of the connection, or one before TLS 1.3.
    package func updateKeys() throws(TLSError) -> Interest? {
        try begin()
        defer { library.leave() }
        guard try flush() else { return carrierDirectionsToSend }
        let needed = try interest(of: rp_tls_update_keys(io, ssl), isHandshake: false)
        return try flush() ? needed : carrierDirectionsToSend
    }

    /// Returns the state of an idle connection.
    ///
    /// Tickets and key updates that have arrived are read; they are not unsolicited bytes.
    package func liveness() -> Socket.Liveness {
        guard !hasEnded, (try? begin()) != nil else { return .closed }
        defer { library.leave() }
        // Checking the socket is sufficient if no more has been received than OpenSSL has returned.
        if case .channel(let channel) = carrier, rp_tls_has_unread(io, ssl) == 0,
            channel.socket.liveness() == .idle
        {
            return .idle
        }
        var byte: UInt8 = 0
        do throws(TLSError) {
            let result = try withUnsafeMutableBytes(of: &byte) { byte throws(TLSError) in try read(into: byte) }
            return switch result {
            case .bytes: .strayBytes
            case .end: .closed
            // Bytes remain that no wait of the next exchange would report.
            case .needs(let directions): directions.isEmpty ? .strayBytes : .idle
            }
        } catch {
            return .closed
        }
    }

    /// Sends pending records, and returns whether none is left.
    private func flush() throws(TLSError) -> Bool {
        switch rp_tls_flush(io) {
        case 0: return false
        case 1: return true
        default: throw systemError("send", io.pointee.send_error)
        }
    }

    /// Begins a use of the library, if the stream can be used.
    private func begin() throws(TLSError) {
        if let failure { throw failure }
        // The parent uses the keys of this connection, and a record of the child would end it.
        guard fork == ForkCount.current else {
            throw TLSError(.configuration, "a forked child cannot use a TLS connection of its parent")
        }
        try library.enter()
    }
}
