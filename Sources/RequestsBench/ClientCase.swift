import Requests
import RequestsPOSIX

/// A kind of exchange with which a client is measured.
struct ClientCase: Sendable {
    let name: String
    let method: HTTPMethod
    let path: String
    var delivery = ResponseBody.Delivery.collected(limit: 64 << 20)
    var upload = Upload.none
    var connections = Connections.kept

    enum Connections: Sendable {
        /// Connections are used again.
        case kept
        /// Each request has a connection, with a full handshake.
        case new
        /// Each request has a connection, which resumes a session.
        case resumed
    }

    enum Upload: Sendable {
        case none
        /// A body in memory, with Content-Length.
        case bytes
        /// A body produced in chunks of 256 KiB, without a length.
        case chunks
        /// A file of 1 GiB: the one that `UP_FILE` in the environment names, or one that is created.
        case file
    }

    static let all = [
        ClientCase(name: "small", method: .get, path: "/small"),
        // A connection for each request; "resume" resumes the TLS session of the one before.
        ClientCase(name: "handshake", method: .get, path: "/small", connections: .new),
        ClientCase(name: "resume", method: .get, path: "/small", connections: .resumed),
        // Without a body, because the server of "small" takes an empty line as the end of a request.
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

    /// Returns the file to send; nil if there is none.
    func file() throws -> ScratchFile? {
        guard case .file = upload else { return nil }
        return try Terminal.environment("UP_FILE").map { ScratchFile(at: $0) } ?? ScratchFile(bytes: uploadBytes)
    }

    /// The size of an upload in bytes: `UP_MIB` in the environment, or 64 MiB; 1 GiB for a file.
    var uploadBytes: Int {
        switch upload {
        case .none: 0
        case .file: 1 << 30
        case .bytes, .chunks: (Terminal.environment("UP_MIB").flatMap { Int($0) } ?? 64) << 20
        }
    }

    /// Returns the request, which is made once: only performing it is measured.
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
        .stream(length: nil, isReplayable: true) {
            Chunks(chunk: Data(count: 256 << 10), remaining: bytes / (256 << 10))
        }
    }

    private struct Chunks: RequestBody.Source {
        let chunk: Data
        var remaining: Int

        mutating func next() async throws -> Data? {
            guard remaining > 0 else { return nil }
            remaining -= 1
            return chunk
        }
    }
}

/// A file of zeros that is removed when this value is released, or an existing file, which is kept.
package final class ScratchFile: Sendable {
    package let path: String
    private let isTemporary: Bool

    init(at path: String) {
        self.path = path
        isTemporary = false
    }

    package init(bytes: Int) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "requests-bench-\(UUID())").path
        isTemporary = true
        var writer = try FileWriter(replacing: path)
        let chunk = [UInt8](repeating: 0, count: 1 << 20)
        for _ in 0..<bytes / chunk.count { try chunk.withUnsafeBytes { try writer.write($0) } }
        try writer.finish()
    }

    deinit {
        if isTemporary { try? FileManager.default.removeItem(atPath: path) }
    }
}
