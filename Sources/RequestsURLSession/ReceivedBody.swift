@_spi(Lock) import Requests
import RequestsPOSIX

/// Where the bytes of a response go while they arrive.
enum ReceivedBody: Sendable {
    /// Into memory; more than `limit` is an error, or cut off when it is not to be whole.
    case collected(limit: Int, isWhole: Bool)
    /// Into memory, at most `limit` bytes of them: the body of a redirect that is followed, which cannot fail.
    case drained(limit: Int)
    /// To whoever reads them.
    case streamed
    /// Into a file that appears whole or not at all.
    case saved(ReceivedFile)
}

/// A file that takes a response's body.
final class ReceivedFile: Sendable {
    private struct Open: ~Copyable {
        var writer: FileWriter?
    }

    let path: String
    private let open: Lock<Open>

    init(path: String) throws(RequestError) {
        self.path = path
        do throws(FileError) {
            open = Lock(Open(writer: try FileWriter(replacing: path)))
        } catch {
            throw RequestError(.other, detail: "\(error)", underlying: error)
        }
    }

    func write(_ data: Data) throws(RequestError) {
        try RequestError.wrapping(.other) {
            try open.withLock { open in
                try data.withUnsafeBytes { try open.writer?.write($0) }
            }
        }
    }

    /// Puts the file in its place.
    func finish() throws(RequestError) {
        try RequestError.wrapping(.other) {
            try open.withLock { open in
                try open.writer.take()?.finish()
            }
        }
    }
}
