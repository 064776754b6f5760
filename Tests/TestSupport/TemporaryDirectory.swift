package import Foundation

/// Returns a random name for a file, a directory or an abstract socket.
package func uniqueName() -> String { "requests-\(String(UInt64.random(in: .min ... .max), radix: 36))" }

/// A directory under the system's temporary directory, which is removed with its files when the object is released.
package final class TemporaryDirectory: Sendable {
    package let path = FileManager.default.temporaryDirectory.appending(path: uniqueName()).path

    /// Creates the directory, or ends the process if that fails, because a test without it would prove nothing.
    package init() {
        do {
            // With any umask, others cannot write to it: private files in it would be refused.
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        } catch {
            preconditionFailure("could not create \(path): \(error)")
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    package func path(of name: String) -> String { "\(path)/\(name)" }

    /// The sorted names of its files, including hidden ones.
    package var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    package func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
        try Data(bytes).write(to: URL(filePath: path(of: name)))
    }

    package func read(_ name: String) -> Data? { FileManager.default.contents(atPath: path(of: name)) }
}
