import Requests
import RequestsPOSIX
import RequestsTLS

/// The socket on which a connection is being established, or a script for tests.
///
/// No function waits. A transfer that returns `.wouldBlock` continues after a wait for ``directions(for:)``.
protocol ConnectingStream: ~Copyable {
    associatedtype Network: ConnectionNetwork

    /// Creates a stream; the socket of `channel` is connected.
    init(_ channel: Network.Channel)

    var channel: Network.Channel { get }

    /// Begins or continues a TLS handshake, and returns the directions that it needs; nil when it has ended.
    ///
    /// All later bytes are sent and received through TLS.
    ///
    /// - Throws: ``TLSError``, also if the server selects a protocol that `version` does not use.
    mutating func secure(
        _ context: TLSContext, _ name: TLSServerName, _ key: TLSSessionKey, for version: ConnectionVersion
    ) throws(TLSError) -> Interest?

    /// Sends the beginning of `bytes`; after `.wouldBlock` the next call must begin with the same bytes.
    mutating func send(_ bytes: ArraySlice<UInt8>) throws(StreamError) -> TransferResult

    /// Receives bytes that have arrived, at most 4 KiB, in place of `received`.
    mutating func receive(_ received: inout [UInt8]) throws(StreamError) -> TransferResult

    /// Returns the directions to wait for before a transfer in the directions `wanted`; empty if it can be tried now.
    func directions(for wanted: Interest) -> Interest

    /// Returns the established connection in `slot`, with the settings of `network`.
    consuming func connection(
        in slot: Network.Connection.Slot, _ stamps: RawResponse.Metrics.Stamps, over network: Network
    ) -> Network.Connection
}

/// The stream over a socket, with TLS once ``secure(_:_:_:for:)`` has ended the handshake.
struct SocketStream: ConnectingStream, ~Copyable {
    typealias Network = Connector

    private var bytes: ByteStream
    private var handshake: TLSStream?

    init(_ channel: Channel) {
        bytes = ByteStream(channel)
    }

    var channel: Channel { bytes.channel }

    mutating func secure(
        _ context: TLSContext, _ name: TLSServerName, _ key: TLSSessionKey, for version: ConnectionVersion
    ) throws(TLSError) -> Interest? {
        let handshake = if let handshake { handshake } else { try begin(context, name, key, for: version) }
        if let directions = try handshake.handshake() { return directions }
        try handshake.requireProtocol(among: version.applicationProtocols, orNone: version.allowsNoProtocol)
        bytes = ByteStream(bytes.channel, handshake)
        self.handshake = nil
        return nil
    }

    private mutating func begin(
        _ context: TLSContext, _ name: TLSServerName, _ key: TLSSessionKey, for version: ConnectionVersion
    ) throws(TLSError) -> TLSStream {
        let handshake = try bytes.securing(context, name, key)
        if version == .http1Only { try handshake.offerOnly(version.applicationProtocols) }
        self.handshake = handshake
        return handshake
    }

    mutating func send(_ bytes: ArraySlice<UInt8>) throws(StreamError) -> TransferResult {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(StreamError) in try self.bytes.write(bytes, nothing) }
        }
        return try result.get()
    }

    mutating func receive(_ received: inout [UInt8]) throws(StreamError) -> TransferResult {
        var result: Result<TransferResult, StreamError> = .success(.end)
        received = [UInt8](unsafeUninitializedCapacity: 4 << 10) { buffer, initialized in
            let space = UnsafeMutableRawBufferPointer(buffer)
            result = Result { () throws(StreamError) in try bytes.read(into: space) }
            if case .success(.bytes(let count)) = result { initialized = count }
        }
        return try result.get()
    }

    func directions(for wanted: Interest) -> Interest { bytes.directions(for: wanted) }

    consuming func connection(
        in slot: Slot, _ stamps: RawResponse.Metrics.Stamps, over network: Connector
    ) -> Connection {
        let negotiation = bytes.negotiation
        let usesHTTP2 = network.httpVersion.usesHTTP2(afterSelecting: negotiation?.applicationProtocol)
        return Connection(bytes, in: slot, stamps, network.configuration, negotiation, usingHTTP2: usesHTTP2)
    }
}
