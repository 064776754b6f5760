import CRequestsPOSIX

/// The owner of a file descriptor, which is closed exactly once, when this value is destroyed.
package struct Descriptor: ~Copyable, Sendable {
    /// The number for system calls, valid for the lifetime of this value.
    package let number: Int32

    /// Creates the owner of the open descriptor `number`.
    package init(adopting number: Int32) {
        self.number = number
    }

    deinit {
        // Not repeated after EINTR: the number is free by then, and another thread may have reused it.
        _ = close(number)
    }
}
