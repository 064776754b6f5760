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

    /// Whether the transport itself has bytes that the socket has not accepted yet.
    var hasPendingBytes: Bool { get }

    /// Whether the last receive ended although the transport may have more bytes, which no wait reports.
    var hasUnreportedBytes: Bool { get }
}

extension TLSTransport {
    /// False: a receive ends only when there are no bytes.
    package var hasUnreportedBytes: Bool { false }
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
/// A failure of the outer stream is `EPROTO` for the inner one; a further call of the outer one throws its reason.
extension TLSStream: TLSTransport {
    /// Receives the data that has arrived, without waiting.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        do throws(TLSError) {
            let result = try read(into: buffer)
            // Many records without data: see `TLSStream.read(into:mayBlock:)`.
            hasUnreportedBytes = result == .bytes(0) && !buffer.isEmpty
            return hasUnreportedBytes ? .wouldBlock : result.transfer
        } catch {
            throw error.systemError
        }
    }

    /// Sends as many bytes as are accepted, without waiting.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult {
        do throws(TLSError) {
            return switch try write(bytes) {
            case .bytes(let count): .bytes(count)
            case .end, .needs: .wouldBlock
            }
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
