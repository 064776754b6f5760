import Requests
import RequestsPOSIX

/// One of the exchanges that a client is measured with.
struct ClientCase: Sendable {
    let name: String
    let method: HTTPMethod
    let path: String
    var delivery = Delivery.collected(limit: 64 << 20)
    var upload = Upload.none

    enum Upload: Sendable {
        case none
        /// From memory, with Content-Length.
        case bytes
        /// Produced in chunks of 256 KiB, without a length.
        case chunks
        /// 1 GiB from a file: the one that `UP_FILE` in the environment names, or one that is written for it.
        case file
    }

    static let all = [
        ClientCase(name: "small", method: .get, path: "/small"),
        // Without a body: the server that answers "small" takes an empty line for the end of a request.
        ClientCase(name: "post", method: .post, path: "/small"),
        ClientCase(name: "kb64", method: .get, path: "/kb64"),
        ClientCase(name: "chunked", method: .get, path: "/chunked"),
        ClientCase(name: "down16", method: .get, path: "/mb16"),
        ClientCase(name: "down16s", method: .get, path: "/mb16", delivery: .streamed),
        ClientCase(name: "down1g", method: .get, path: "/gb1", delivery: .streamed),
        ClientCase(name: "up", method: .post, path: "/echo-len", upload: .bytes),
        ClientCase(name: "upchunked", method: .post, path: "/echo-len", upload: .chunks),
        ClientCase(name: "upfile1g", method: .post, path: "/echo-len", upload: .file),
    ]

    /// The file that is sent; nil when there is none to send.
    func file() throws -> ScratchFile? {
        guard case .file = upload else { return nil }
        return try Terminal.environment("UP_FILE").map { ScratchFile(at: $0) } ?? ScratchFile(bytes: uploadBytes)
    }

    /// The bytes of an upload: `UP_MIB` in the environment, 64 MiB without; of a file 1 GiB.
    var uploadBytes: Int {
        switch upload {
        case .none: 0
        case .file: 1 << 30
        case .bytes, .chunks: (Terminal.environment("UP_MIB").flatMap { Int($0) } ?? 64) << 20
        }
    }

    /// The request, made once: what is measured is performing it.
    func request(to baseURL: URL, sending file: ScratchFile?) throws(RequestError) -> PreparedRequest {
        var target = baseURL
        target.append(path: path)
        var request = try PreparedRequest(method: method, url: target)
        request.delivery = delivery
        switch upload {
        case .none: request.header = [Field(name: .accept, value: "application/json")]
        case .bytes: request.body = .bytes(Data(repeating: 97, count: uploadBytes))
        case .chunks: request.body = Self.chunks(uploadBytes)
        case .file: request.body = file.map { .file(path: $0.path) } ?? .none
        }
        return request
    }

    private static func chunks(_ bytes: Int) -> RequestBody {
        .stream(length: nil, replayable: true) { Chunks(chunk: Data(count: 256 << 10), left: bytes / (256 << 10)) }
    }

    private struct Chunks: RequestBodySource {
        let chunk: Data
        var left: Int

        mutating func next() async throws -> Data? {
            guard left > 0 else { return nil }
            left -= 1
            return chunk
        }
    }
}

/// A file of zeros that is gone with this value, or somebody else's.
package final class ScratchFile: Sendable {
    package let path: String
    private let isOurs: Bool

    init(at path: String) {
        self.path = path
        isOurs = false
    }

    package init(bytes: Int) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "requests-bench-\(UUID())").path
        isOurs = true
        var writer = try FileWriter(replacing: path)
        let piece = [UInt8](repeating: 0, count: 1 << 20)
        for _ in 0..<bytes / piece.count { try piece.withUnsafeBytes { try writer.write($0) } }
        try writer.finish()
    }

    deinit {
        if isOurs { try? FileManager.default.removeItem(atPath: path) }
    }
}
