#if os(Linux)
import CRequestsTest
import Requests
import CRequestsPOSIX
import RequestsPOSIX
import TestSupport
import Testing

/// Tests that concern the whole process, each in a child process where no other test runs.
@Suite("Process", .timeLimit(.minutes(10)))
struct ProcessTests {
    @Test("send, sendmsg and sendfile to a closed connection fail with EPIPE, without a signal", .rows("R-56"))
    func brokenPipe() async {
        await #expect(processExitsWith: .success) {
            // All zeros is the default disposition, with which the signal ends the process.
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

    @Test("every descriptor is closed after use, and is closed on exec", .rows("R-53", "R-58"))
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
            // The thread of a reactor closes its two descriptors shortly after the last use. Meanwhile the runtime may
            // have opened three or four descriptors of this kind.
            await eventually { OpenDescriptors().anonymous <= before.anonymous + 5 }
        }
    }

    @Test("without free descriptors an error is thrown, and later operations succeed", .rows("R-57"))
    func shortage() async {
        await #expect(processExitsWith: .success) {
            let reactor = try Reactor()
            // The child inherits the descriptors that are open in the process of the tests.
            let maximum = rlim_t(64 + (OpenDescriptors().inherited.max() ?? 0))
            var limit = rlimit(rlim_cur: maximum, rlim_max: maximum)
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

    @Test("a channel, a signal and a file that a child releases remain usable in its parent", .rows("R-58"))
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
                // The reactor still watches the channel, and the signal is not set.
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
            #expect(children.hangsAreRare, "\(children)")
            #expect(inheritance.isSignalled)
            try inheritance.finish()
            #expect(folder.names == ["a"])
        }
    }

    @Test("no byte is lost when signals interrupt system calls", .rows("R-55"))
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
                    try pair.near.socket.waitInPlace(for: .reading, by: .after(.milliseconds(3)))
                }
                #expect(error == .timedOut)
            }
        }
    }
}

/// The resources that a child inherits.
///
/// Only this object refers to them, so that the child can release them.
private final class Inheritance: @unchecked Sendable {  // used by one thread at a time
    let signal: WakeSignal
    private var writer: FileWriter?
    private var near: Channel?
    private var quiet: Socket?

    init(_ folder: TemporaryDirectory) throws {
        signal = try WakeSignal()
        writer = try FileWriter(replacing: folder.path(of: "a"))
        quiet = try Socket.listening(on: .loopback())
    }

    /// Registers a channel with the reactor, and returns its other end.
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

/// The open descriptors of the process.
private struct OpenDescriptors {
    /// The targets of sockets and files, not their numbers.
    var named: Set<String> = []
    /// The number of event counters, queues and timers, which have no name.
    var anonymous = 0
    /// The descriptors that an executed program would inherit.
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
            // Another thread has closed it since the folder was read.
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
