import Requests
import RequestsPOSIX
import RequestsTLS

/// A socket that is read and written directly, or through TLS.
///
/// No function waits. After `.wouldBlock`, wait for ``directions(for:)`` and call again: TLS may have to write before
/// it can read, and to read before it can write.
struct ByteStream: ~Copyable {
    let channel: Channel
    private let secured: TLSStream?
    /// The directions for which the last read and the last write of TLS wait.
    private var directionsToRead = Interest.reading
    private var directionsToWrite = Interest.writing

    init(_ channel: Channel, _ secured: TLSStream? = nil) {
        self.channel = channel
        self.secured = secured
    }

    var isSecured: Bool { secured != nil }

    /// The result of the TLS handshake, without certificates; nil without TLS.
    var negotiation: TLSConfiguration.Negotiation? { secured?.negotiation }

    /// Returns a TLS connection over these bytes, before its handshake.
    func securing(
        _ context: TLSContext, _ name: TLSServerName, _ key: TLSSessionKey
    ) throws(TLSError) -> TLSStream {
        if let secured { return try TLSStream(context, over: secured, to: name, sessionKey: key) }
        return try TLSStream(context, over: channel, to: name, sessionKey: key)
    }

    /// Sends close_notify to a TLS peer, if the socket accepts it; the socket remains open.
    func end() {
        secured?.shutdown()
    }

    var context: TLSContext? { secured?.context }
}

// MARK: Receiving

extension ByteStream {
    /// Receives the bytes that have arrived.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> TransferResult {
        if let secured { return try read(from: secured, into: buffer) }
        do throws(SystemError) {
            return try channel.read(into: buffer)
        } catch {
            throw .system(error)
        }
    }

    private mutating func read(
        from secured: TLSStream, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StreamError) -> TransferResult {
        do throws(TLSError) {
            switch try secured.read(into: buffer) {
            case .bytes(let count):
                directionsToRead = .reading
                return .bytes(count)
            case .end: return .end
            case .needs(let directions): directionsToRead = directions
            }
            return .wouldBlock
        } catch {
            throw .tls(error)
        }
    }
}

// MARK: Sending

extension ByteStream {
    /// Sends two buffers, whose beginnings share a system call and a record.
    ///
    /// After `.wouldBlock` the next call must begin with the same bytes.
    mutating func write(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) throws(StreamError) -> TransferResult {
        if let secured { return try write(first, second, to: secured) }
        do throws(SystemError) {
            return try channel.write(first, second)
        } catch {
            throw .system(error)
        }
    }

    private mutating func write(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, to secured: TLSStream
    ) throws(StreamError) -> TransferResult {
        do throws(TLSError) {
            switch try secured.write(first, second) {
            case .bytes(let count):
                directionsToWrite = .writing
                return .bytes(count)
            case .end: return .end
            case .needs(let directions):
                directionsToWrite = directions
                return .wouldBlock
            }
        } catch {
            throw .tls(error)
        }
    }

    /// Whether the peer may have received bytes of a write that returned `.wouldBlock`, as TLS can send a part.
    var hasPartialWrite: Bool { secured?.hasPartialWrite ?? false }

    /// Sends a part of a file without reading it; not possible with TLS.
    func writeFile(
        _ file: borrowing FileReader, from position: Int64, count: Int
    ) throws(StreamError) -> TransferResult {
        do throws(SystemError) {
            return try channel.writeFile(file, from: position, count: count)
        } catch {
            throw .system(error)
        }
    }
}

// MARK: Between transfers

extension ByteStream {
    /// Returns the directions to wait for before a transfer in the directions `wanted`; empty if it can be tried now.
    func directions(for wanted: Interest) -> Interest {
        if secured == nil { return wanted }
        if wanted.contains(.reading), directionsToRead.isEmpty { return .none }
        if wanted.contains(.writing), directionsToWrite.isEmpty { return .none }
        var directions = Interest.none
        if wanted.contains(.reading) { directions.formUnion(directionsToRead) }
        if wanted.contains(.writing) { directions.formUnion(directionsToWrite) }
        return directions
    }

    /// Returns the state of an idle connection; bytes that have arrived make it unusable.
    func liveness() -> Socket.Liveness {
        secured?.liveness() ?? channel.socket.liveness()
    }
}
