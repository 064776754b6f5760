import CRequestsPOSIX

/// The result of one non-blocking transfer.
package enum TransferResult: Hashable, Sendable {
    /// The number of bytes moved, possibly fewer than requested.
    case bytes(Int)
    /// The peer will send no more bytes; only reads return this.
    case end
    /// The transfer would block: wait, then try again.
    case wouldBlock
}

/// The owner of a stream socket, which is close-on-exec and closed when this value is destroyed.
///
/// Each function below makes one system call and repeats it if a signal interrupts it. None blocks.
package struct Socket: ~Copyable, Sendable {
    package let descriptor: Descriptor

    package init(adopting descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    private init(adopting number: Int32) {
        descriptor = Descriptor(adopting: number)
    }

    /// Creates an unconnected socket for the family of `address`.
    package init(for address: SocketAddress) throws(SystemError) {
        let number = rp_socket(address.kernelFamily)
        guard number >= 0 else { throw .last("socket") }
        self.init(adopting: number)
    }

    var number: Int32 { descriptor.number }
}

// MARK: Transfers

extension Socket {
    /// Sends as many of `bytes` as the socket accepts; a peer that is gone is `EPIPE` or `ECONNRESET`, never a signal.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult {
        guard bytes.count > 0 else { return .bytes(0) }
        let sent = try retryingInterrupts("send") { rp_send(number, bytes.baseAddress, bytes.count) }
        return sent.map { .bytes($0) } ?? .wouldBlock
    }

    /// Sends two buffers, such as a head and the beginning of its body, with one system call.
    package func send(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) throws(SystemError) -> TransferResult {
        guard first.count > 0 else { return try send(second) }
        guard second.count > 0 else { return try send(first) }
        let sent = try retryingInterrupts("sendmsg") {
            rp_send_two(number, first.baseAddress, first.count, second.baseAddress, second.count)
        }
        return sent.map { .bytes($0) } ?? .wouldBlock
    }

    /// Receives the bytes that have arrived, at most as many as fit; `.bytes(0)` only for an empty buffer.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        guard buffer.count > 0 else { return .bytes(0) }
        let count = try retryingInterrupts("recv") { rp_receive(number, buffer.baseAddress, buffer.count) }
        return count.map { $0 == 0 ? .end : .bytes($0) } ?? .wouldBlock
    }

    /// Sends part of a file without copying it through this process.
    ///
    /// SIGPIPE is blocked in the calling thread during the call; the process's disposition is never changed.
    ///
    /// - Returns: `.bytes(0)` if the file ends before `offset` because it has shrunk.
    package func sendFile(
        _ file: borrowing FileReader, from offset: Int64, count: Int
    ) throws(SystemError) -> TransferResult {
        guard count > 0 else { return .bytes(0) }
        let source = file.descriptor.number
        let sent = try retryingInterrupts("sendfile") { rp_sendfile(number, source, off_t(offset), count) }
        return sent.map { .bytes($0) } ?? .wouldBlock
    }
}

// MARK: Connecting and its end

extension Socket {
    /// The state of an idle connection.
    package enum Liveness: Hashable, Sendable {
        /// Nothing has arrived: the connection can be used.
        case idle
        /// The peer has closed or reset the connection.
        case closed
        /// Unsolicited bytes have arrived.
        case strayBytes
    }

    /// Returns the state of an idle connection, found with one non-blocking peek; nothing is consumed.
    package func liveness() -> Liveness {
        do throws(SystemError) {
            guard let count = try retryingInterrupts("recv", { rp_peek(number) }) else { return .idle }
            return count == 0 ? .closed : .strayBytes
        } catch {
            return .closed
        }
    }

    /// Binds the local end of a connection to `address`, before connecting; the system chooses the port.
    package func bindLocally(to address: SocketAddress) throws(SystemError) {
        guard address.withKernelAddress({ rp_bind_local(number, $0, $1) }) == 0 else { throw .last("bind") }
    }

    /// Begins to connect.
    ///
    /// Returns true if the socket is connected already, and false if it becomes writable when connecting ends.
    ///
    /// - Throws: `EAGAIN` for a unix socket whose listener's queue is full: no event reports when it has space.
    package func startConnecting(to address: SocketAddress) throws(SystemError) -> Bool {
        let result = address.withKernelAddress { rp_connect(number, $0, $1) }
        guard result != 0 else { return true }
        let error = SystemError.last("connect")
        // An interrupted connect continues in the kernel; a second call would only fail with EALREADY.
        guard error.code == EINPROGRESS || error.code == EINTR else { throw error }
        return false
    }

    /// Throws the error with which connecting ended; call it once the socket is writable.
    package func finishConnecting() throws(SystemError) {
        let code = rp_take_socket_error(number)
        guard code >= 0 else { throw .last("getsockopt") }
        guard code == 0 else { throw SystemError("connect", code: code) }
    }

    /// The directions of a connection to shut down.
    package enum Half: Sendable {
        case reading, writing, both
    }

    /// Shuts down one direction or both.
    ///
    /// A connection that has ended already is not an error.
    package func shutDown(_ half: Half) {
        let how =
            switch half {
            case .reading: rp_shutdown_read
            case .writing: rp_shutdown_write
            case .both: rp_shutdown_both
            }
        _ = shutdown(number, how)
    }
}

// MARK: Making and naming

extension Socket {
    /// Two sockets that are connected to each other.
    ///
    /// ``apart(_:)`` releases them: a tuple cannot contain noncopyable values.
    package struct Pair: ~Copyable, Sendable {
        private let first: Socket
        private let second: Socket

        /// Creates two connected unix sockets.
        package init() throws(SystemError) {
            var numbers: (Int32, Int32) = (-1, -1)
            guard rp_socket_pair(&numbers.0, &numbers.1) == 0 else { throw .last("socketpair") }
            first = Socket(adopting: numbers.0)
            second = Socket(adopting: numbers.1)
        }

        /// Passes both sockets to `body`, which owns them from then on.
        package consuming func apart<Result: ~Copyable, Failure: Error>(
            _ body: (consuming Socket, consuming Socket) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            try body(first, second)
        }
    }

    /// Creates a socket that accepts connections at `address`; port 0 chooses a free port (see `localAddress()`).
    ///
    /// A unix path must not exist before, and is not removed afterwards.
    package static func listening(on address: SocketAddress, backlog: Int32 = 128) throws(SystemError) -> Socket {
        let socket = try Socket(for: address)
        if address.family != .unix {
            guard rp_set_flag(socket.number, SOL_SOCKET, SO_REUSEADDR, 1) == 0 else { throw .last("setsockopt") }
        }
        guard address.withKernelAddress({ rp_bind(socket.number, $0, $1) }) == 0 else { throw .last("bind") }
        guard listen(socket.number, backlog) == 0 else { throw .last("listen") }
        return socket
    }

    /// Creates a socket bound to `address` that does not listen, so that connections to it are refused.
    package static func bound(to address: SocketAddress) throws(SystemError) -> Socket {
        let socket = try Socket(for: address)
        guard address.withKernelAddress({ rp_bind(socket.number, $0, $1) }) == 0 else { throw .last("bind") }
        return socket
    }

    /// Accepts the next connection in the queue; nil if there is none.
    ///
    /// Connections that ended in the queue are skipped. After an error with `isShortage` the listener stays readable:
    /// pause before the next try, to avoid a busy loop.
    package func accept() throws(SystemError) -> Socket? {
        while true {
            do throws(SystemError) {
                guard let number = try retryingInterrupts("accept", { rp_accept(number) }) else { return nil }
                return Socket(adopting: number)
            } catch  where error.code == ECONNABORTED {
                continue
            }
        }
    }

    package func localAddress() throws(SystemError) -> SocketAddress {
        guard let address = SocketAddress({ rp_local_address(number, $0, $1) }) else { throw .last("getsockname") }
        return address
    }

    package func peerAddress() throws(SystemError) -> SocketAddress {
        guard let address = SocketAddress({ rp_peer_address(number, $0, $1) }) else { throw .last("getpeername") }
        return address
    }
}

// MARK: Options

extension Socket {
    /// Sends small segments without delay (TCP_NODELAY); has no effect on a unix socket.
    package func setNoDelay() {
        _ = rp_set_no_delay(number)
    }

    /// Enables TCP keep-alive: after `idle` seconds, `count` probes are sent, one every `interval` seconds.
    package func setKeepAlive(idle: Int32, interval: Int32, count: Int32) throws(SystemError) {
        guard rp_set_keep_alive(number, idle, interval, count) == 0 else { throw .last("setsockopt") }
    }

    /// The values that ``setKeepAlive(idle:interval:count:)`` sets, and whether keep-alive is enabled.
    package var keepAlive: (idle: Int32, interval: Int32, count: Int32, isEnabled: Bool) {
        (
            rp_keep_alive_value(number, 0), rp_keep_alive_value(number, 1), rp_keep_alive_value(number, 2),
            rp_keep_alive_value(number, 3) > 0
        )
    }

    /// Sets the sizes of the kernel's buffers in bytes; the kernel may round or double them.
    package func setKernelBuffers(sending: Int32? = nil, receiving: Int32? = nil) throws(SystemError) {
        if let sending, rp_set_flag(number, SOL_SOCKET, SO_SNDBUF, sending) != 0 { throw .last("setsockopt") }
        if let receiving, rp_set_flag(number, SOL_SOCKET, SO_RCVBUF, receiving) != 0 { throw .last("setsockopt") }
    }

    /// Makes closing send a reset instead of an orderly end.
    package func setResetOnClose() throws(SystemError) {
        guard rp_set_reset_on_close(number) == 0 else { throw .last("setsockopt") }
    }
}
