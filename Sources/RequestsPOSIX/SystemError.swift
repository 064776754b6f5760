import CRequestsPOSIX

/// A system call that failed.
///
/// Carries the call's name and the error number it left; the description adds the system's own words for it.
package struct SystemError: Error, Hashable, Sendable {
    /// The system call, `connect` for example.
    package let operation: StaticOperation
    /// The error number, always positive.
    package let code: Int32

    package init(_ operation: StaticOperation, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// The error that the calling thread's last failed system call left.
    ///
    /// Never inlined: the address of `errno` belongs to a thread, and an async caller may resume on another one.
    static func last(_ operation: StaticOperation) -> SystemError {
        SystemError(operation, code: lastCode())
    }

    @inline(never)
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

    /// The peer is gone: it reset, refused to go on, or closed before it read what was sent.
    package var isConnectionLoss: Bool {
        [EPIPE, ECONNRESET, ECONNABORTED, ENOTCONN, ESHUTDOWN].contains(code)
    }

    /// The process or the machine has run out of descriptors, buffers or memory; trying later may work.
    package var isShortage: Bool {
        [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code)
    }

    package var isRefused: Bool { code == ECONNREFUSED }
    package var isNotFound: Bool { code == ENOENT }
    package var isNotPermitted: Bool { code == EACCES || code == EPERM }
    package var isTimeout: Bool { code == ETIMEDOUT }
    package var isAddressInUse: Bool { code == EADDRINUSE }
    package var isUnreachable: Bool { [ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL].contains(code) }
    /// Of a unix socket's connect: the listener's queue is full.
    package var isFullQueue: Bool { code == EAGAIN }
    /// Of sendfile: this kind of file can only be read.
    package var isNotSupportedByFile: Bool { [EINVAL, ENOSYS, ENOTSUP].contains(code) }
    package var isBrokenPipe: Bool { code == EPIPE }
    package var isReset: Bool { code == ECONNRESET }
}

extension SystemError: CustomStringConvertible {
    /// The call, the system's words and the number: `connect: Connection refused (111)`.
    package var description: String {
        "\(operation): \(message) (\(code))"
    }

    /// The system's words for the error number.
    package var message: String {
        var text = [CChar](repeating: 0, count: 256)
        rp_describe_error(code, &text, text.count)
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Makes a system call again for as long as a signal interrupts it.
///
/// Returns the call's result, which is not negative, or `nil` when it would have to wait.
@inline(__always)
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
