import CRequestsPOSIX
package import RequestsPOSIX

/// A transport below TLS other than a socket, such as the TLS connection to a proxy.
package protocol TLSTransport: AnyObject {
    /// Receives the bytes that have arrived, without waiting.
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult

    /// Sends as many bytes as are accepted, without waiting.
    ///
    /// After `.wouldBlock` the next call begins with the same bytes.
    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult

    /// The failure of a transport that itself uses TLS; nil for a socket.
    var failure: TLSError? { get }

    /// Whether the transport itself has bytes that the socket has not accepted yet.
    var hasPendingBytes: Bool { get }

    /// The directions that the last receive waits for; empty directions have the meaning in
    /// ``TLSTransferResult/needs(_:)``.
    var directionsToReceive: Interest { get }

    /// The directions that the last send waits for; empty directions have the meaning in
    /// ``TLSTransferResult/needs(_:)``.
    var directionsToSend: Interest { get }
}

extension TLSTransport {
    /// Always nil: a socket reports its failures itself.
    package var failure: TLSError? { nil }

    /// Always reading: a socket receives when it can be read.
    package var directionsToReceive: Interest { .reading }

    /// Always writing: a socket sends when it can be written.
    package var directionsToSend: Interest { .writing }
}

extension Channel: TLSTransport {
    /// Receives the bytes that have arrived, with the faults that a test has injected.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        try read(into: buffer)
    }

    /// Sends as many bytes as are accepted, with the faults that a test has injected.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult {
        try write(bytes)
    }

    /// Always false: the kernel has all bytes that were accepted.
    package var hasPendingBytes: Bool { false }
}

/// A stream to a proxy below the stream to the origin.
///
/// A failure of the outer stream is `EPROTO` for OpenSSL, and fails the inner stream with its own reason.
extension TLSStream: TLSTransport {
    /// Receives the data that has arrived, without waiting.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        do throws(TLSError) {
            let result = try read(into: buffer)
            if case .needs(let directions) = result { directionsToReceive = directions }
            return result.transfer
        } catch {
            throw error.systemError
        }
    }

    /// Sends as many bytes as are accepted, without waiting.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult {
        do throws(TLSError) {
            let result = try write(bytes)
            if case .needs(let directions) = result { directionsToSend = directions }
            return result.transfer
        } catch {
            throw error.systemError
        }
    }

    /// Whether records have not been sent yet.
    package var hasPendingBytes: Bool { io.pointee.pending_end > 0 }
}

extension TLSError {
    fileprivate var systemError: SystemError {
        if case .system(let error) = problem { return error }
        return SystemError("TLS of the proxy", code: EPROTO)
    }
}
