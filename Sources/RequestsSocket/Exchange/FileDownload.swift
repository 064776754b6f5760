import Requests
import RequestsPOSIX

/// A body that is written to a file, which appears whole or not at all (decision 0003).
struct FileDownload: ~Copyable, Sendable {
    private var writer: FileWriter
    private let piece: PieceMemory

    /// Creates the file; `expected` is the declared length of the body, if there is one.
    init(to path: String, expecting expected: Int?) throws(RequestError) {
        do throws(FileError) {
            writer = try FileWriter(replacing: path)
        } catch {
            throw RequestError(error)
        }
        piece = PieceMemory(min(256 << 10, max(1, expected ?? .max)))
    }

    /// Receives and writes the available bytes, and returns whether the body has ended.
    mutating func receive<C: Carrier & ~Copyable>(from transfer: inout Transfer<C>) throws(RequestError) -> Bool {
        while true {
            guard let count = try transfer.receiveBody(into: piece.prefix()) else { return false }
            if count == 0 { return true }
            do throws(FileError) {
                try writer.write(UnsafeRawBufferPointer(piece.prefix(Int64(count))))
            } catch {
                throw RequestError(error)
            }
        }
    }

    /// Moves the file to its path.
    consuming func finish() throws(RequestError) {
        do throws(FileError) {
            try writer.finish()
        } catch {
            throw RequestError(error)
        }
    }
}
