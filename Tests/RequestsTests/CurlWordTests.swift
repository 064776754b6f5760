import Foundation
import Requests
import TestSupport
import Testing

/// The words that a shell reads from a curl command, and the input that it pipes to curl.
///
/// A shell function replaces curl.
@Suite(
    "Shell words of the curl command",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/bin/sh"), "/bin/sh is not available"),
    .timeLimit(.minutes(10)))
struct CurlWordTests {
    static let shells = ["/bin/sh", "/bin/dash", "/bin/bash", "/bin/zsh", "/bin/busybox"].filter {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// Texts with marks and line ends after the characters that are special to a shell.
    static let texts = (Marks.behind + ["", "\r\n", "\n", "\t", "\u{202E}", "\u{9B}"]).flatMap { mark in
        [
            "x'\(mark);touch F;:'\(mark)", "'\(mark)$(touch F)'\(mark)", "`\(mark)touch F`\(mark)", "\\\(mark)'\(mark)",
            "\"\(mark);touch F;\"\(mark)", "$\(mark){x}", "-\(mark)o F", "\(mark)'", "'\(mark)", "@\(mark)/etc/passwd",
            "a\(mark)&touch F&", "%\(mark)s\\0101'",
        ]
    }

    /// Returns the words that `shell` passes to curl for each command, and the standard input of curl.
    private func words(_ commands: [String], with shell: String) throws -> [[[UInt8]]] {
        let folder = TemporaryDirectory()
        let function = "curl() { printf '%s\\0' \"$@\"; case \" $* \" in *' @- '*) cat;; esac; printf '\\0END\\0'; }\n"
        try folder.write((function + commands.map { $0 + "\n" }.joined()).utf8, to: "script")
        let script = folder.path(of: "script")
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: shell)
        process.arguments = shell.hasSuffix("busybox") ? ["sh", script] : [script]
        process.currentDirectoryURL = URL(filePath: folder.path)
        process.environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let bytes = Array(try output.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(shell)")
        #expect(folder.names == ["script"], "\(shell) ran a command from the text")
        var result: [[[UInt8]]] = [[]]
        for word in bytes.split(separator: 0, omittingEmptySubsequences: false).map(Array.init) {
            if word == Marks.bytes("END") { result.append([]) } else { result[result.count - 1].append(word) }
        }
        return result.dropLast()
    }

    @Test("a shell reads every word unchanged and runs no other command", .rows("R-1", "R-8"), arguments: shells)
    func words(shell: String) throws {
        let target = try TargetURI("https://e.com/a?b=c'd")
        let requests = Self.texts.map { text in
            PreparedRequest(
                method: .put, target: target, header: [Field(name: "X-A", value: text)], body: .bytes(Data(text.utf8)))
        }
        let commands = requests.map { $0.curlCommand() }
        for command in commands { #expect(!command.utf8.contains(0x0A) && !command.utf8.contains(0x0D)) }
        try check(commands, of: Self.texts, to: target, with: shell)
    }

    /// Checks that `shell` reads every word of each command; the text with the index of the command is its field and
    /// body.
    private func check(
        _ commands: [String], of texts: [String], to target: TargetURI, with shell: String
    ) throws {
        let read = try words(commands, with: shell)
        try #require(read.count == texts.count)
        for (index, text) in texts.enumerated() {
            // Command substitution removes trailing line ends; no field that is sent contains any.
            var value = text
            while value.unicodeScalars.last == "\n" { value.unicodeScalars.removeLast() }
            #expect(read[index].contains(Marks.bytes("X-A: " + value)), "\(commands[index])")
            #expect(read[index].contains(Marks.bytes(text)), "\(commands[index])")
            #expect(read[index].contains(Marks.bytes(target.absoluteString)), "\(commands[index])")
        }
    }

    @Test("an error's curl command is one line and runs no other command", .rows("R-1", "R-8"), arguments: shells)
    func errors(shell: String) throws {
        let target = try TargetURI("https://e.com/a?b=c'd")
        let commands = try Self.texts.map { text in
            let request = PreparedRequest(
                method: .post, target: target, header: [Field(name: "X-A", value: text)], body: .bytes(Data(text.utf8)))
            let error = RequestError(.connectionFailed, request: request)
            return try #require(
                error.debugDescription.utf8.split(separator: 0x0A).last.map { String(decoding: $0, as: UTF8.self) })
        }
        for command in commands {
            #expect(Marks.holds(command, "curl --request POST"))
            #expect(!command.utf8.contains(0x0D))
        }
        try check(commands, of: Self.texts, to: target, with: shell)
    }

    @Test(
        "a file whose name ends in a line end is read from standard input, which keeps the name out of the shell",
        .rows("R-1"))
    func fileNames() throws {
        let target = try TargetURI("https://e.com/")
        for name in ["/f\n", "/f\r\n"] {
            let command = PreparedRequest(method: .put, target: target, body: .file(path: name)).curlCommand()
            #expect(Marks.holds(command, "--data-binary @- "), "\(command)")
        }
    }
}
