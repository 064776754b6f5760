import Requests
import RequestsBench
import RequestsPOSIX
import RequestsURLSession

/// A program in a process of its own.
final class Program {
    private let process = Process()
    private let outputPipe = Pipe()
    private let errorPipe = Pipe()

    /// Starts the program that is found by the first word, in the folders of `PATH` where it has no slash.
    init(_ command: [String], _ environment: [String: String] = [:]) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = outputPipe
        process.standardError = errorPipe
        try process.run()
    }

    /// What it prints, until it ends.
    lazy var output: String = {
        let data = outputPipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }()

    /// What it prints of errors, until it ends.
    lazy var errors: String = String(decoding: errorPipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)

    func end() {
        process.terminate()
        process.waitUntilExit()
    }

    /// Waits for a server's unix socket, at most some seconds.
    func waitUntilListening(at path: String) throws {
        for _ in 0..<500 {
            if FileManager.default.fileExists(atPath: path) { return }
            guard process.isRunning else { break }
            Thread.sleep(forTimeInterval: 0.01)
        }
        throw Mistake("the server did not start: \(errors)")
    }

    /// The path of a program of this package, beside this one.
    static func sibling(_ name: String) -> String {
        let folder = Bundle.main.executableURL?.deletingLastPathComponent() ?? URL(filePath: ".")
        return folder.appending(path: name).path
    }

    /// The words that, before a command, keep it on the last core that this process may use; none where nothing does.
    static func keptOnOneCore() -> [String] {
        let question = ["taskset", "-c", "-p", "\(ProcessInfo.processInfo.processIdentifier)"]
        // Its last word is the list of cores: 0-3, or 1,3.
        let core = (try? Program(question).output)?.split { !$0.isWholeNumber }.last
        return core.map { ["taskset", "-c", String($0)] } ?? []
    }

    /// Becomes another program of this package, with the same process and `arguments`; returns when there is none.
    static func become(_ name: String, _ arguments: [String]) {
        let path = sibling(name)
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        execv(path, &words)
    }

    /// Microseconds from starting the program at `path` until it has ended.
    static func life(of path: String, _ arguments: [String]) throws -> Double {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, Terminal.standardOutput, "/dev/null", O_WRONLY, 0)
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var (child, status): (pid_t, Int32) = (0, 0)
        let start = ContinuousClock.now
        guard posix_spawn(&child, path, &actions, nil, &words, environ) == 0, waitpid(child, &status, 0) == child,
            status == 0
        else { throw Mistake("\(path) failed") }
        return (ContinuousClock.now - start) / .microseconds(1)
    }
}
