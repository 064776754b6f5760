import CRequestsPOSIX
import RequestsPOSIX
import TestSupport
import Testing

@Suite("Files")
struct FileTests {
    let folder = TemporaryDirectory()

    private func read(_ path: String) throws -> [UInt8] {
        try bytes(of: FileReader(path: path), from: 0)
    }

    private func bytes(of file: borrowing FileReader, from offset: Int64) throws -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(file.size) + 10, alignment: 1)
        defer { buffer.deallocate() }
        return Array(buffer[..<(try file.read(into: buffer, at: offset))])
    }

    private func write(_ bytes: [UInt8]) throws {
        var writer = try FileWriter(replacing: folder.path(of: "a"))
        try bytes.withUnsafeBytes { try writer.write($0) }
        try writer.finish()
    }

    @Test("a finished file replaces the previous one, and only its owner can read and write it", .rows("R-74"))
    func writes() throws {
        try write([1, 2, 3])
        #expect(try read(folder.path(of: "a")) == [1, 2, 3])
        try write([4])
        #expect(try read(folder.path(of: "a")) == [4])
        #expect(folder.names == ["a"])
        var status = stat()
        #expect(stat(folder.path(of: "a"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test("an unfinished writer leaves no file and does not change an existing one")
    func dropped() throws {
        try folder.write([1], to: "a")
        do {
            var writer = try FileWriter(replacing: folder.path(of: "a"))
            try [UInt8](repeating: 2, count: 10).withUnsafeBytes { try writer.write($0) }
            #expect(writer.size == 10)
            #expect(folder.names.count == 2)
        }
        #expect(folder.names == ["a"])
        #expect(try read(folder.path(of: "a")) == [1])
    }

    @Test("a file that must be new never replaces one, not even one that appears while it is written")
    func created() throws {
        func create(_ bytes: [UInt8], meanwhile: () throws -> Void = {}) throws {
            var writer = try FileWriter(replacing: folder.path(of: "a"))
            try bytes.withUnsafeBytes { try writer.write($0) }
            try meanwhile()
            try writer.finishCreating()
        }
        let exists = FileError.exists(path: folder.path(of: "a"))
        #expect(throws: exists) { try create([1]) { try folder.write([2], to: "a") } }
        #expect(try read(folder.path(of: "a")) == [2] && folder.names == ["a"])
        #expect(unlink(folder.path(of: "a")) == 0)
        try create([3])
        #expect(throws: exists) { try create([4]) }
        #expect(try read(folder.path(of: "a")) == [3] && folder.names == ["a"])
        #expect(throws: FileError.tooLarge(path: folder.path(of: "a"), limit: 0)) {
            try FileReader(path: folder.path(of: "a")).contents(limit: 0)
        }
        #expect(try FileReader(path: folder.path(of: "a")).contents(limit: 1) == [3])
    }

    @Test("a folder, a pipe or a device is not replaced, and nothing is created beside it")
    func ontoOthers() throws {
        let (inner, pipe, link) = (folder.path(of: "inner"), folder.path(of: "pipe"), folder.path(of: "link"))
        #expect(mkdir(inner, 0o700) == 0 && mkfifo(pipe, 0o600) == 0 && symlink("/dev/null", link) == 0)
        defer { rmdir(inner) }
        for path in [inner, pipe, link, "/dev/null"] {
            #expect(throws: FileError.notRegular(path: path)) { _ = try FileWriter(replacing: path) }
            let partial = try #require(try PartialFile.open(folder.path(of: "partial"), creating: true))
            #expect(throws: FileError.notRegular(path: path)) { try partial.move(to: path) }
        }
        #expect(folder.names == ["inner", "link", "partial", "pipe"])
        var status = stat()
        #expect(stat("/dev/null", &status) == 0 && rp_is_regular(&status) == 0)
    }

    @Test("a partial file is unlocked when it is closed, although a forked child still has its descriptor")
    func unlocks() throws {
        let path = folder.path(of: "a")
        var copies: [Int32] = []
        defer { for copy in copies { close(copy) } }
        let file = try #require(try PartialFile.open(path, creating: true))
        withExtendedLifetime(file) {
            // A duplicate shares the lock, as the descriptor of a child does.
            var (own, other) = (stat(), stat())
            #expect(stat(path, &own) == 0)
            for number in Int32(0)..<1_024 where fstat(number, &other) == 0 && other.st_ino == own.st_ino {
                copies.append(dup(number))
            }
            #expect(copies.count >= 1)
            #expect(throws: FileError.locked(path: path)) { try PartialFile.open(path, creating: true) }
        }
        _ = consume file
        #expect(try PartialFile.open(path, creating: true) != nil)
    }

    @Test("a symbolic link to a file, or to nothing, is replaced")
    func ontoLink() throws {
        try folder.write([1], to: "target")
        for target in [folder.path(of: "target"), folder.path(of: "missing")] {
            #expect(symlink(target, folder.path(of: "a")) == 0)
            try write([2])
            #expect(try read(folder.path(of: "a")) == [2])
            #expect(unlink(folder.path(of: "a")) == 0)
        }
        #expect(try read(folder.path(of: "target")) == [1])
    }

    @Test("invalid and missing paths are typed errors")
    func invalidPaths() {
        for path in ["", "a\0b"] {
            #expect(throws: FileError.invalidPath) { _ = try FileReader(path: path) }
            #expect(throws: FileError.invalidPath) { _ = try FileWriter(replacing: path) }
        }
        let error = #expect(throws: FileError.self) { _ = try FileReader(path: folder.path(of: "missing")) }
        guard case .system(let system, _) = error else {
            Issue.record("expected a system error")
            return
        }
        #expect(system.isNotFound)
        #expect(throws: FileError.self) { _ = try FileWriter(replacing: folder.path(of: "missing/a")) }
    }

    @Test("reading a folder or a pipe is an error, and a pipe does not block")
    func notRegular() {
        #expect(throws: FileError.notRegular(path: folder.path)) { _ = try FileReader(path: folder.path) }
        let pipe = folder.path(of: "pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(throws: FileError.notRegular(path: pipe)) { _ = try FileReader(path: pipe) }
    }

    @Test("a file is read from an offset; past its end there are no bytes")
    func offsets() throws {
        try folder.write([1, 2, 3], to: "a")
        let file = try FileReader(path: folder.path(of: "a"))
        #expect(try bytes(of: file, from: 1) == [2, 3])
        #expect(try bytes(of: file, from: 99).isEmpty)
    }
}

@Suite("Terminal")
struct TerminalTests {
    @Test(
        "NO_COLOR with a value and TERM=dumb disable colors",
        arguments: [
            ([:], true), (["NO_COLOR": ""], true), (["NO_COLOR": "1"], false), (["NO_COLOR": "0"], false),
            (["TERM": "dumb"], false), (["TERM": "xterm"], true), (["TERM": "xterm", "NO_COLOR": "x"], false),
        ] as [([String: String], Bool)])
    func color(environment: [String: String], allowed: Bool) {
        #expect(Terminal.allowsColor { environment[$0] } == allowed)
    }

    @Test("a socket is not a terminal and has no columns")
    func notTerminal() throws {
        let pair = try Socket.Pair()
        try pair.apart { first, _ throws(SystemError) in
            #expect(!Terminal.isTerminal(first.descriptor.number))
            #expect(Terminal.columns(of: first.descriptor.number) == nil)
            #expect(!Terminal.wantsColor(first.descriptor.number) { _ in nil })
        }
    }
}
