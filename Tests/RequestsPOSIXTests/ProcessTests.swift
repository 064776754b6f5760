#if os(Linux)
import CRequestsPOSIX
import RequestsPOSIX
import TestSupport
import Testing

/// What concerns the whole process is proven in a child process, where no other test runs.
@Suite("Process", .timeLimit(.minutes(5)))
struct ProcessTests {
    @Test("writing to a peer that is gone is EPIPE and no signal, by send, sendmsg and sendfile (R-56)")
    func brokenPipe() async {
        await #expect(processExitsWith: .success) {
            // All zero is the default disposition, under which the signal ends the process.
            var byDefault = sigaction()
            sigaction(SIGPIPE, &byDefault, nil)
            let folder = TemporaryDirectory()
            try folder.write([1, 2, 3], to: "a")
            let file = try FileReader(path: folder.path(of: "a"))
            let reactor = try Reactor()
            let near = try ChannelPair(on: reactor).near
            let bytes: [UInt8] = [1]
            for round in 0..<3 {
                let error = #expect(throws: SystemError.self) {
                    switch round {
                    case 0: _ = try near.writeOnce(bytes)
                    case 1: _ = try bytes.withUnsafeBytes { try near.write($0, $0) }
                    default: _ = try near.writeFile(file, from: 0, count: 3)
                    }
                }
                #expect(error?.isBrokenPipe == true)
            }
            var pending = sigset_t()
            sigpending(&pending)
            #expect(sigismember(&pending, SIGPIPE) == 0)
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            #expect(sigismember(&mask, SIGPIPE) == 0)
        }
    }

    @Test("every descriptor is closed in the end and closes on exec (R-53, R-58)")
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            let before = OpenDescriptors()
            do {
                let reactors = try (0..<10).map { _ in try Reactor() }
                let folder = TemporaryDirectory()
                try folder.write([1], to: "a")
                let file = try FileReader(path: folder.path(of: "a"))
                let pairs = try (0..<20).map { try ChannelPair(on: reactors[$0 % 10]) }
                let listener = try Socket.listening(on: .loopback())
                let client = Channel(try Socket(for: listener.localAddress()), reactor: reactors[0])
                try await client.connect(to: listener.localAddress())
                for pair in pairs {
                    try pair.far.writeOnce([1])
                    try await pair.near.waitUntilReadable()
                }
                let opened = OpenDescriptors()
                #expect(opened.named.subtracting(before.named).count >= 43)
                #expect(opened.anonymous >= 20)
                #expect(opened.inherited.subtracting(before.inherited).isEmpty)
                #expect(file.size == 1)
                #expect(folder.names == ["a"])
            }
            await eventually { OpenDescriptors().named.isSubset(of: before.named) }
            // A reactor's own two are closed by its thread, a moment after its last user has gone. The runtime may
            // have opened three or four of its kind in the meantime.
            await eventually { OpenDescriptors().anonymous <= before.anonymous + 5 }
        }
    }

    @Test("without free descriptors there is a clear error, and all is well afterwards (R-57)")
    func shortage() async {
        await #expect(processExitsWith: .success) {
            let reactor = try Reactor()
            // What others have left open in the process that runs the tests comes along.
            let most = rlim_t(64 + (OpenDescriptors().inherited.max() ?? 0))
            var limit = rlimit(rlim_cur: most, rlim_max: most)
            #expect(rp_limit_descriptors(&limit) == 0)
            var pairs: [ChannelPair] = []
            var shortage: SystemError?
            while shortage == nil {
                do {
                    pairs.append(try ChannelPair(on: reactor))
                } catch let error as SystemError {
                    shortage = error
                }
            }
            #expect(shortage?.isShortage == true)
            #expect(pairs.count > 10)
            pairs = []
            let pair = try ChannelPair(on: reactor)
            try pair.far.writeOnce([1])
            try await pair.near.waitUntilReadable()
        }
    }

    @Test("a child that releases a channel, a signal or a file leaves them to its parent (R-58)")
    func forked() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryDirectory()
            let inheritance = try Inheritance(folder)
            let far = try await inheritance.begin()
            var children = ForkedChildren()
            for round in 0..<20 {
                let hasReleased = children.run {
                    inheritance.signal.signal()
                    inheritance.release()
                    return true
                }
                #expect(hasReleased, "round \(round)")
                // The reactor still watches the channel, and nothing was signalled.
                try far.writeOnce([1])
                try await inheritance.receive()
                #expect(inheritance.isSignalled == false, "round \(round)")
            }
            inheritance.signal.signal()
            let hasDrained = children.run {
                inheritance.signal.drain()
                return true
            }
            #expect(hasDrained)
            #expect(children.hangSeldom, "\(children)")
            #expect(inheritance.isSignalled)
            try inheritance.finish()
            #expect(folder.names == ["a"])
        }
    }

    @Test("a storm of signals interrupts system calls and loses no byte (R-55)")
    func signalStorm() async {
        await #expect(processExitsWith: .success) {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in }
            sigaction(SIGALRM, &action, nil)
            var interval = itimerval(
                it_interval: timeval(tv_sec: 0, tv_usec: 1000), it_value: timeval(tv_sec: 0, tv_usec: 1000))
            #expect(rp_start_timer(&interval) == 0)
            let reactor = try Reactor()
            let pair = try ChannelPair(on: reactor)
            let size = 20 << 20
            let far = pair.far
            async let received = far.readAll(upTo: size)
            try await pair.near.writeAll([UInt8](repeating: 5, count: size))
            #expect(try await received.count == size)
            for _ in 0..<20 {
                let error = #expect(throws: WaitError.self) {
                    try pair.near.waitReadableInPlace(by: .after(.milliseconds(3)))
                }
                #expect(error == .timedOut)
            }
        }
    }
}

/// What a child inherits; nothing else refers to it, so that the child can release it.
private final class Inheritance: @unchecked Sendable {  // one thread at a time uses it
    let signal: WakeSignal
    private var writer: FileWriter?
    private var near: Channel?
    private var quiet: Socket?

    init(_ folder: TemporaryDirectory) throws {
        signal = try WakeSignal()
        writer = try FileWriter(replacing: folder.path(of: "a"))
        quiet = try Socket.listening(on: .loopback())
    }

    /// Has the reactor watch a channel; returns its other end.
    func begin() async throws -> Channel {
        let pair = try ChannelPair(on: try Reactor.shared())
        near = pair.near
        try pair.far.writeOnce([1])
        try await receive()
        return pair.far
    }

    func receive() async throws {
        guard let near else { return }
        try await near.waitUntilReadable(by: .after(.seconds(20)))
        #expect(try near.readOnce() == .bytes(1))
    }

    var isSignalled: Bool {
        do {
            try quiet?.waitInPlace(for: .reading, by: .now, orUntil: signal)
            return false
        } catch {
            return error == .closed
        }
    }

    func release() {
        near = nil
        writer = nil
    }

    func finish() throws {
        try writer.take()?.finish()
    }
}

/// What the process has open.
private struct OpenDescriptors {
    /// Sockets and files by what they are, not by number.
    var named: Set<String> = []
    /// Event counters, queues and timers, which have no name.
    var anonymous = 0
    /// Those that an executed program would get.
    var inherited: Set<Int32> = []

    init() {
        guard let folder = opendir("/proc/self/fd") else { return }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let number = Int32(name), number != dirfd(folder) else { continue }
            let flags = rp_get_descriptor_flags(number)
            let target = Self.target(of: number)
            // Closed by another thread since the folder was read.
            guard flags >= 0, !target.isEmpty else { continue }
            if flags & FD_CLOEXEC == 0 { inherited.insert(number) }
            if target.hasPrefix("anon_inode") { anonymous += 1 } else { named.insert(target) }
        }
    }

    private static func target(of number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            let count = readlink("/proc/self/fd/\(number)", start, buffer.count)
            return String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
#endif
