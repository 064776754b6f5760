import RequestsPOSIX

/// A file in the temporary directory that only its owner can read (0600), while it is written.
struct Spool: ~Copyable {
    private var writer: FileWriter

    init(at path: String = Self.newPath()) throws(FileError) {
        writer = try FileWriter(replacing: path)
    }

    /// Returns a path that no other body uses.
    static func newPath() -> String {
        let name = "requests-\(String(UInt64.random(in: .min ... .max), radix: 36)).upload"
        return FileManager.default.temporaryDirectory.appending(path: name).path
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        try writer.write(bytes)
    }

    /// Closes the file and returns its path.
    consuming func finish() throws(FileError) -> String {
        let path = writer.path
        try writer.finish()
        return path
    }
}

/// A file that is removed when this value is released.
final class SpooledFile: Sendable {
    let path: String

    init(path: String) {
        self.path = path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
