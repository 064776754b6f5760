import Requests
import RequestsPOSIX

enum TLSFile {
    /// The maximum size of a file in bytes; the certificate bundles of systems have less than 1 MB.
    static let limit = 16 << 20

    /// Returns the content of the file at `path`.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - content: The content as a phrase for errors, such as `certificates`.
    /// - Returns: The bytes.
    /// - Throws: ``TLSError`` with ``TLSError/Problem/configuration``.
    static func read(_ path: String, _ content: String) throws(TLSError) -> Data {
        let bytes: [UInt8]?
        do throws(FileError) {
            bytes = try self.bytes(of: path)
        } catch {
            throw TLSError(.configuration, "could not read the file with the \(content): \(error)")
        }
        guard let bytes else {
            let problem = "\(ErrorText.quoted(path)) is larger than \(ErrorText.bytes(limit))"
            throw TLSError(.configuration, "could not read the file with the \(content): \(problem)")
        }
        return Data(bytes)
    }

    /// Returns the content of a file; nil if it is larger than the limit.
    private static func bytes(of path: String) throws(FileError) -> [UInt8]? {
        let file = try FileReader(path: path)
        guard file.size <= Int64(limit) else { return nil }
        var bytes: [UInt8] = []
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
        defer { chunk.deallocate() }
        while bytes.count < limit {
            let count = try file.read(into: chunk, at: Int64(bytes.count))
            guard count > 0 else { break }
            bytes.append(contentsOf: chunk.prefix(count))
        }
        return bytes
    }
}
