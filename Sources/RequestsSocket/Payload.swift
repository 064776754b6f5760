import Requests
import RequestsPOSIX

/// A request's body, opened: what is sent, and how long it is.
enum Payload: Sendable {
    case none
    case bytes(Data)
    case file(OpenFile, range: Range<Int64>, isWhole: Bool)
    case stream(length: Int?, make: @Sendable () throws -> sending any RequestBodySource)

    /// Opens the body; a file that cannot be read, or is shorter than its range, is an error before anything is sent.
    ///
    /// A body that trailers follow is a stream of unknown length, whatever it was.
    init(_ request: PreparedRequest) throws(RequestError) {
        let body = request.body
        if body.isNone {
            // One that has trailers all the same is refused before anything is sent.
            self = .none
            return
        }
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
            throw unreadable("the file has \(file.reader.size) bytes, not those of \(range)", nil)
        }
        return .file(file, range: Int64(range.lowerBound)..<Int64(range.upperBound), isWhole: false)
    }

    private static func unreadable(_ detail: String, _ error: FileError?) -> RequestError {
        RequestError(.invalidRequest(.unreadableFile), detail: detail, underlying: error).beforeSending()
    }

    /// The bytes when they are in memory, or none; nil when they have to be read.
    var inMemory: Data? {
        switch self {
        case .none: Data()
        case .bytes(let data): data
        case .file, .stream: nil
        }
    }

    /// The number of bytes, nil for a stream that does not say.
    var length: Int? {
        switch self {
        case .none: 0
        case .bytes(let data): data.count
        case .file(_, let range, _): Int(range.count)
        case .stream(let length, _): length
        }
    }
}

/// A file that stays open for as long as a body may have to be sent from it.
final class OpenFile: Sendable {
    let reader: FileReader

    init(path: String) throws(FileError) {
        reader = try FileReader(path: path)
    }
}

/// The chunks of a body that has to be as long as it says, though its length is not sent.
private struct DeclaredSource: RequestBodySource {
    private var source: any RequestBodySource
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
            throw RequestError(.bodyNotEncoded, detail: "the body has not the \(length) bytes declared")
        }
        return chunk
    }
}
