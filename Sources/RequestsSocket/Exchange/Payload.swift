import Requests
import RequestsPOSIX

/// The opened body of a request, with its length.
enum Payload: Sendable {
    case none
    case bytes(Data)
    case file(OpenFile, range: Range<Int64>, isWhole: Bool)
    case stream(length: Int?, make: @Sendable () throws -> sending any RequestBody.Source)

    /// Opens the body; a file that cannot be read, or is shorter than its range, is an error before anything is sent.
    ///
    /// A body with trailers is always a stream of unknown length.
    init(_ request: PreparedRequest) throws(RequestError) {
        guard request.hasBody else {
            // Trailers without a body are rejected before anything is sent.
            self = .none
            return
        }
        let body = request.body
        try self.init(body)
        if request.trailers != nil { self = .stream(length: nil) { try DeclaredSource(body) } }
    }

    private init(_ body: RequestBody) throws(RequestError) {
        switch body {
        case .none: self = .none
        case .bytes(let data): self = .bytes(data)
        case .stream(let length, _, let make): self = .stream(length: length, make: make)
        case .file(let path, let range): self = try Self.open(path, range)
        }
    }

    private static func open(_ path: String, _ range: Range<Int>?) throws(RequestError) -> Payload {
        let file: OpenFile
        do throws(FileError) {
            file = try OpenFile(path: path)
        } catch {
            throw unreadable(error.description, error)
        }
        guard let range else { return .file(file, range: 0..<file.reader.size, isWhole: true) }
        guard range.lowerBound >= 0, range.upperBound <= file.reader.size else {
            let size = ErrorText.bytes(Int(clamping: file.reader.size))
            throw unreadable("byte range \(range) is outside the file of \(size)", nil)
        }
        return .file(file, range: Int64(range.lowerBound)..<Int64(range.upperBound), isWhole: false)
    }

    private static func unreadable(_ detail: String, _ error: FileError?) -> RequestError {
        RequestError(.fileAccessFailed, detail: detail, underlying: error).beforeSending()
    }

    /// The size in bytes up to which a file is read, so that it is sent with the head in one system call.
    static let smallFile = 64 << 10

    /// Whether the body is a file that a carrier may send without reading it.
    var isLargeFile: Bool {
        if case .file(_, let range, _) = self { range.count > Self.smallFile } else { false }
    }

    /// The length in bytes; nil for a stream without a declared length.
    var length: Int? {
        switch self {
        case .none: 0
        case .bytes(let data): data.count
        case .file(_, let range, _): Int(range.count)
        case .stream(let length, _): length
        }
    }
}

/// A file that stays open while a body may be sent from it.
final class OpenFile: Sendable {
    let reader: FileReader

    init(path: String) throws(FileError) {
        reader = try FileReader(path: path)
    }
}

/// A source that checks the declared length of a body, because that length is not sent.
private struct DeclaredSource: RequestBody.Source {
    private var source: any RequestBody.Source
    private let length: Int?
    private var count = 0

    init(_ body: RequestBody) throws {
        length = try body.measuredLength()
        source = try body.makeSource()
    }

    mutating func next() async throws -> Data? {
        let chunk = try await source.next()
        count += chunk?.count ?? 0
        if let length, chunk == nil ? count != length : count > length {
            throw RequestError(
                .bodyEncodingFailed, detail: "the body does not have its declared \(ErrorText.bytes(length))")
        }
        return chunk
    }
}
