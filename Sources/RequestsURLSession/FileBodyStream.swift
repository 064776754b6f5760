import RequestsPOSIX

/// An input stream that reads exactly as many bytes of a file as Content-Length declares.
///
/// If the file grows, the extra bytes are not read, because the server would take them for the next request. If it
/// shrinks, the upload fails, because the server would wait for the missing bytes (decision 0017).
final class FileBodyStream: InputStream {
    private let path: String
    private let length: Int
    private let failure: UploadFailure
    private var reader: FileReader?
    private var offset = 0
    private var status = Stream.Status.notOpen

    init(path: String, length: Int, failure: UploadFailure) {
        self.path = path
        self.length = length
        self.failure = failure
        super.init(data: Data())
    }

    override var streamStatus: Stream.Status { status }
    override var hasBytesAvailable: Bool { offset < length }

    override func open() {
        do throws(FileError) {
            reader = try FileReader(path: path)
            status = .open
        } catch {
            fail(error.description, error)
        }
    }

    override func close() {
        reader = nil
        status = .closed
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
        if status == .atEnd { return 0 }
        guard status == .open else { return -1 }
        let destination = UnsafeMutableRawBufferPointer(start: buffer, count: min(count, length - offset))
        do throws(FileError) {
            let count = try reader?.read(into: destination, at: Int64(offset)) ?? 0
            if count == 0, offset < length {
                return fail("the file shrank while it was being sent, by \(ErrorText.bytes(length - offset))", nil)
            }
            offset += count
            if offset == length { status = .atEnd }
            return count
        } catch {
            return fail(error.description, error)
        }
    }

    /// Reports the error and ends the upload: a read of -1 makes the session fail its task.
    @discardableResult
    private func fail(_ detail: String, _ error: FileError?) -> Int {
        failure.set(RequestError(.bodyEncodingFailed, detail: detail, underlying: error))
        status = .error
        return -1
    }
}
