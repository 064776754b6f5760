import RequestsPOSIX

/// A file in the temporary folder that only its owner can read (0600), while it is written.
struct Spool: ~Copyable {
    private var writer: FileWriter

    init() throws(FileError) {
        let name = "requests-\(String(UInt64.random(in: .min ... .max), radix: 36)).upload"
        writer = try FileWriter(replacing: FileManager.default.temporaryDirectory.appending(path: name).path)
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        try writer.write(bytes)
    }

    consuming func finish() throws(FileError) -> SpooledFile {
        let path = writer.path
        try writer.finish()
        return SpooledFile(path: path)
    }
}

/// A file that is removed when nobody holds this value any more.
final class SpooledFile: Sendable {
    let path: String

    init(path: String) {
        self.path = path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
