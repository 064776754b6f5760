import CRequestsPOSIX

/// What one non-blocking transfer did.
package enum TransferResult: Hashable, Sendable {
    /// So many bytes were moved, perhaps fewer than offered.
    case bytes(Int)
    /// The peer will send no more; only reads answer this.
    case end
    /// Nothing could be moved now: wait.
    case wouldBlock
}

/// The owner of a stream socket.
///
/// Closed once, when this value goes away; close-on-exec. Every call below is one system call, made again when a signal
/// interrupts it; none blocks but ``receiveInPlace(into:)``, and that only after ``allowWaiting()``.
package struct Socket: ~Copyable, Sendable {
    package let descriptor: Descriptor

    package init(adopting descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    private init(adopting number: Int32) {
        descriptor = Descriptor(adopting: number)
    }

    /// A socket that is not connected yet, of the family of `address`.
    package init(for address: SocketAddress) throws(SystemError) {
        let number = rp_socket(address.kernelFamily)
        guard number >= 0 else { throw .last("socket") }
        self.init(adopting: number)
    }

    var number: Int32 { descriptor.number }
}

// MARK: Transfers

extension Socket {
    /// Sends what the socket takes now; a peer that is gone is `EPIPE` or `ECONNRESET`, never a signal.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult {
        guard bytes.count > 0 else { return .bytes(0) }
        let sent = try retryingInterrupts("send") { rp_send(number, bytes.baseAddress, bytes.count) }
        return sent.map { .bytes($0) } ?? .wouldBlock
    }

    /// Sends two buffers with one system call: a head and the beginning of its body.
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

    /// Receives what has arrived, up to the buffer's size; `.bytes(0)` only for an empty buffer.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        guard buffer.count > 0 else { return .bytes(0) }
        let count = try retryingInterrupts("recv") { rp_receive(number, buffer.baseAddress, buffer.count) }
        return count.map { $0 == 0 ? .end : .bytes($0) } ?? .wouldBlock
    }

    /// The same, blocking the calling thread for at most 10 ms until something has arrived.
    package func receiveInPlace(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        guard buffer.count > 0 else { return .bytes(0) }
        let count = try retryingInterrupts("recv") { rp_receive_waiting(number, buffer.baseAddress, buffer.count) }
        return count.map { $0 == 0 ? .end : .bytes($0) } ?? .wouldBlock
    }

    /// Lets ``receiveInPlace(into:)`` wait from now on, until ``forbidWaiting()``; whether that could be done.
    func allowWaiting() -> Bool {
        rp_set_waiting(number, 10) == 0
    }

    func forbidWaiting() {
        _ = rp_set_waiting(number, 0)
    }

    /// Sends part of a file without copying it through this process.
    ///
    /// `.bytes(0)` means that the file ends before `offset`: it has become shorter. SIGPIPE is blocked in the thread
    /// for the time of the call; the process's disposition is never changed.
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
    /// How an idle connection is found.
    package enum Liveness: Hashable, Sendable {
        /// Nothing has arrived: it can be used.
        case idle
        /// The peer has closed or reset it.
        case closed
        /// Bytes nobody asked for have arrived.
        case strayBytes
    }

    /// Looks at an idle connection with one non-blocking peek; nothing is consumed.
    package func liveness() -> Liveness {
        do throws(SystemError) {
            guard let count = try retryingInterrupts("recv", { rp_peek(number) }) else { return .idle }
            return count == 0 ? .closed : .strayBytes
        } catch {
            return .closed
        }
    }

    /// Begins to connect: `true` when that is done already, `false` when the socket will become writable.
    ///
    /// A unix socket whose listener's queue is full answers `EAGAIN`, which is thrown: it cannot be waited for.
    package func startConnecting(to address: SocketAddress) throws(SystemError) -> Bool {
        let result = address.withKernelAddress { rp_connect(number, $0, $1) }
        guard result != 0 else { return true }
        let error = SystemError.last("connect")
        // An interrupted connect goes on by itself; a second call would only be told EALREADY.
        guard error.code == EINPROGRESS || error.code == EINTR else { throw error }
        return false
    }

    /// Learns how connecting ended, once the socket is writable.
    package func finishConnecting() throws(SystemError) {
        let code = rp_take_socket_error(number)
        guard code >= 0 else { throw .last("getsockopt") }
        guard code == 0 else { throw SystemError("connect", code: code) }
    }

    package enum Half: Sendable {
        case reading, writing, both
    }

    /// Ends one direction or both.
    ///
    /// A connection that is already gone is not an error.
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
    /// Handed out with ``apart(_:)``: a tuple cannot hold values that are not copyable.
    package struct Pair: ~Copyable, Sendable {
        private let first: Socket
        private let second: Socket

        package init() throws(SystemError) {
            var numbers: (Int32, Int32) = (-1, -1)
            guard rp_socket_pair(&numbers.0, &numbers.1) == 0 else { throw .last("socketpair") }
            first = Socket(adopting: numbers.0)
            second = Socket(adopting: numbers.1)
        }

        /// Gives both ends away.
        package consuming func apart<Result: ~Copyable, Failure: Error>(
            _ body: (consuming Socket, consuming Socket) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            try body(first, second)
        }
    }

    /// A socket that accepts connections at `address`; port 0 takes a free one (see `localAddress`).
    ///
    /// A unix path must not exist yet and is not removed afterwards.
    package static func listening(on address: SocketAddress, backlog: Int32 = 128) throws(SystemError) -> Socket {
        let socket = try Socket(for: address)
        if address.family != .unix {
            guard rp_set_flag(socket.number, SOL_SOCKET, SO_REUSEADDR, 1) == 0 else { throw .last("setsockopt") }
        }
        guard address.withKernelAddress({ rp_bind(socket.number, $0, $1) }) == 0 else { throw .last("bind") }
        guard listen(socket.number, backlog) == 0 else { throw .last("listen") }
        return socket
    }

    /// A socket that holds `address` and does not listen: connections to it are refused.
    package static func bound(to address: SocketAddress) throws(SystemError) -> Socket {
        let socket = try Socket(for: address)
        guard address.withKernelAddress({ rp_bind(socket.number, $0, $1) }) == 0 else { throw .last("bind") }
        return socket
    }

    /// The next connection that waits to be accepted; `nil` when there is none.
    ///
    /// Connections that went away while they waited are passed over. After an error that `isShortage` the listener
    /// stays readable: pause before the next try, or the loop spins.
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

    /// The address this socket is bound to.
    package func localAddress() throws(SystemError) -> SocketAddress {
        guard let address = SocketAddress({ rp_local_address(number, $0, $1) }) else { throw .last("getsockname") }
        return address
    }

    /// The address of the other end.
    package func peerAddress() throws(SystemError) -> SocketAddress {
        guard let address = SocketAddress({ rp_peer_address(number, $0, $1) }) else { throw .last("getpeername") }
        return address
    }
}

// MARK: Options

extension Socket {
    /// Small segments go out at once.
    ///
    /// Without effect on a unix socket.
    package func setNoDelay() {
        _ = rp_set_no_delay(number)
    }

    /// Bytes the kernel keeps in each direction; it may round or double them.
    package func setKernelBuffers(sending: Int32? = nil, receiving: Int32? = nil) throws(SystemError) {
        if let sending, rp_set_flag(number, SOL_SOCKET, SO_SNDBUF, sending) != 0 { throw .last("setsockopt") }
        if let receiving, rp_set_flag(number, SOL_SOCKET, SO_RCVBUF, receiving) != 0 { throw .last("setsockopt") }
    }

    /// Closing will send a reset instead of an orderly end.
    package func setResetOnClose() throws(SystemError) {
        guard rp_set_reset_on_close(number) == 0 else { throw .last("setsockopt") }
    }
}
