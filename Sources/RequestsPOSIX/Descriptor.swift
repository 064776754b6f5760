import CRequestsPOSIX

/// The owner of a file descriptor, which is closed exactly once: when this value goes away.
package struct Descriptor: ~Copyable, Sendable {
    /// The number the system calls take; valid for as long as this value lives.
    package let number: Int32

    package init(adopting number: Int32) {
        self.number = number
    }

    deinit {
        // Never repeated after EINTR: the number is free by then and may belong to someone else.
        _ = close(number)
    }
}
