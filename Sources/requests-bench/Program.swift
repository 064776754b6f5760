import Requests
import RequestsBench
import RequestsPOSIX
import RequestsURLSession

/// A program in a separate process.
final class Program {
    private let process = Process()
    private let outputPipe = Pipe()
    private let errorPipe = Pipe()

    /// Starts the program that the first word names, which is searched in `PATH` if it has no slash.
    init(_ command: [String], _ environment: [String: String] = [:]) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = outputPipe
        process.standardError = errorPipe
        try process.run()
    }

    /// The standard output, read until the program ends.
    lazy var output: String = {
        let data = outputPipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }()

    /// The standard error, read until the program ends.
    lazy var errors: String = String(decoding: errorPipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)

    /// Runs a program whose last line is an object of figures, and returns the figures.
    static func measurement(_ command: [String], _ environment: [String: String] = [:]) throws -> [String: Double] {
        let program = try Program(command, environment)
        guard let line = program.output.split(separator: "\n").last,
            let values = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        else { throw BenchmarkError("no figures from \(command.joined(separator: " ")): \(program.errors)") }
        return values.compactMapValues { ($0 as? NSNumber)?.doubleValue }
    }

    func end() {
        process.terminate()
        process.waitUntilExit()
    }

    /// Waits until a server's unix socket exists, for at most 5 s.
    func waitUntilListening(at path: String) throws {
        for _ in 0..<500 {
            if FileManager.default.fileExists(atPath: path) { return }
            guard process.isRunning else { break }
            Thread.sleep(forTimeInterval: 0.01)
        }
        throw BenchmarkError("the server did not start: \(errors)")
    }

    /// Returns the path of another program of this package, which is in the same directory.
    static func sibling(_ name: String) -> String {
        let directory = Bundle.main.executableURL?.deletingLastPathComponent() ?? URL(filePath: ".")
        return directory.appending(path: name).path
    }

    /// Returns the words that, before a command, pin it to the last core available to this process; none if that is
    /// unavailable.
    static func pinningToOneCore() -> [String] {
        let query = ["taskset", "-c", "-p", "\(ProcessInfo.processInfo.processIdentifier)"]
        // The last word of the output is a list of cores: 0-3, or 1,3.
        let core = (try? Program(query).output)?.split { !$0.isWholeNumber }.last
        return core.map { ["taskset", "-c", String($0)] } ?? []
    }

    /// Replaces this process by another program of this package with `arguments`; returns if there is none.
    static func replaceProcess(with name: String, _ arguments: [String]) {
        let path = sibling(name)
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        execv(path, &words)
    }

    /// Returns the microseconds from the start of the program at `path` to its end.
    static func lifetime(of path: String, _ arguments: [String]) throws -> Double {
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
        else { throw BenchmarkError("could not run \(path), or it failed with status \(status)") }
        return (ContinuousClock.now - start) / .microseconds(1)
    }
}
