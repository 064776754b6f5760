package import Foundation

/// A file of lines in Tests/Fixtures with which a test compares the lines that it makes.
package struct Golden: Sendable {
    private let file: URL

    /// Creates the golden file with this name.
    package init(_ name: String) {
        file = Self.repository.appending(path: "Tests/Fixtures/\(name)")
    }

    /// The folder of the package.
    package static var repository: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    }

    /// Returns the lines that differ from the file; with `REQUESTS_RECORD=1` in the environment, writes the file
    /// instead.
    package func differences(from lines: [String]) throws -> [String] {
        if ProcessInfo.processInfo.environment["REQUESTS_RECORD"] != nil {
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
            return []
        }
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let expected = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
        return lines.difference(from: expected).map { change in
            switch change {
            case .insert(let offset, let line, _): "+\(offset + 1): \(line)"
            case .remove(let offset, let line, _): "-\(offset + 1): \(line)"
            }
        }
    }
}
