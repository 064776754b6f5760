import CRequestsPOSIX

/// The error of a system call: the call's name and its error number.
package struct SystemError: Error, Hashable, Sendable {
    /// The name of the system call, such as `connect`.
    package let operation: StaticOperation
    /// The error number, which is always positive.
    package let code: Int32

    package init(_ operation: StaticOperation, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// Returns the error of the calling thread's last failed system call.
    static func last(_ operation: StaticOperation) -> SystemError {
        SystemError(operation, code: lastCode())
    }

    @inline(never)  // the address of `errno` belongs to a thread, and an async caller may resume on another one
    fileprivate static func lastCode() -> Int32 { rp_errno() }
}

extension SystemError {
    /// The name of a system call, written as a literal.
    package struct StaticOperation: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        package let description: String

        package init(stringLiteral value: StaticString) {
            description = value.description
        }
    }

    /// The error of sending to a peer that is gone.
    package static var peerIsGone: SystemError { SystemError("send", code: EPIPE) }

    /// Whether the peer is gone: it reset the connection, or closed it before it read everything sent.
    package var isConnectionLoss: Bool {
        [EPIPE, ECONNRESET, ECONNABORTED, ENOTCONN, ESHUTDOWN].contains(code)
    }

    /// Whether the process or the machine is out of descriptors, buffers or memory; a later try may succeed.
    package var isShortage: Bool {
        [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code)
    }

    package var isRefused: Bool { code == ECONNREFUSED }
    /// Whether the disk, or the part of it that the user may use, is full.
    package var isNoSpace: Bool { code == ENOSPC || code == EDQUOT }
    package var isNotFound: Bool { code == ENOENT }
    package var isNotPermitted: Bool { code == EACCES || code == EPERM }
    package var isAddressInUse: Bool { code == EADDRINUSE }
    /// Whether connecting failed because the queue of a unix socket's listener is full.
    package var isFullQueue: Bool { code == EAGAIN }
    /// Whether sendfile failed because this file can only be read and copied.
    package var isNotSupportedByFile: Bool { [EINVAL, ENOSYS, ENOTSUP].contains(code) }
    package var isBrokenPipe: Bool { code == EPIPE }
    package var isReset: Bool { code == ECONNRESET }
}

extension SystemError: CustomStringConvertible {
    /// The call, the system's message and the error number: `connect: Connection refused (errno 111)`.
    package var description: String {
        "\(operation): \(message) (errno \(code))"
    }

    /// The system's message for the error number.
    package var message: String {
        var text = [CChar](repeating: 0, count: 256)
        rp_describe_error(code, &text, text.count)
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Calls `call`, which makes a system call, and repeats it for as long as a signal interrupts it.
///
/// - Returns: The result of the call, which is not negative, or nil if it would block.
func retryingInterrupts<Result: SignedInteger>(
    _ operation: StaticString, _ call: () -> Result
) throws(SystemError) -> Result? {
    while true {
        let result = call()
        if result >= 0 { return result }
        let code = SystemError.lastCode()
        if code == EINTR { continue }
        if code == EAGAIN || code == EWOULDBLOCK { return nil }
        throw SystemError(SystemError.StaticOperation(stringLiteral: operation), code: code)
    }
}
