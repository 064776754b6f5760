import Foundation
import RequestsConformance
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// Tests that take minutes and gigabytes, so they are opt-in: `REQUESTS_LARGE=1 swift test --filter LargeUploadTests`.
@Suite(
    "Large uploads",
    .enabled(if: ProcessInfo.processInfo.environment["REQUESTS_LARGE"] != nil, "REQUESTS_LARGE is not set"))
struct LargeUploadTests {
    /// A server that accepts one connection, counts the bytes of the body, and responds with 200.
    private final class Sink: Sendable {
        let port: UInt16
        private let listener: FileHandle

        init() throws {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isReady = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(descriptor, address, size) == 0 && listen(descriptor, 1) == 0
                        && getsockname(descriptor, address, &size) == 0
                }
            }
            try #require(isReady)
            port = UInt16(bigEndian: address.sin_port)
            listener = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }

        /// Receives one request on a separate thread, and passes its body's length in bytes to `completion`.
        func serve(_ count: Int, completion: @escaping @Sendable (Int) -> Void) {
            Thread.detachNewThread { [listener] in
                let connection = accept(listener.fileDescriptor, nil, nil)
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
                defer { buffer.deallocate() }
                var body: Int?
                while body.map({ $0 < count }) ?? true {
                    let received = recv(connection, buffer.baseAddress, buffer.count, 0)
                    guard received > 0 else { break }
                    if let counted = body {
                        body = counted + received
                    } else if let end = Data(buffer[..<received]).firstRange(of: Data("\r\n\r\n".utf8)) {
                        body = received - end.upperBound
                    }
                }
                _ = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8).withUnsafeBytes {
                    send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                close(connection)
                completion(body ?? 0)
            }
        }
    }

    /// Returns a value of the process's status in KiB.
    private static func kibibytes(_ name: String) throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
        return try #require(Int(line.filter(\.isNumber)))
    }

    /// Uploads a file of `size` zeros as a part of a form, and checks that the server received it whole.
    private static func upload(_ size: Int) async throws {
        let folder = TemporaryDirectory()
        try folder.write([], to: "large")
        let file = URL(filePath: folder.path(of: "large"))
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: UInt64(size))  // sparse, so it uses no disk space
        try handle.close()

        let sink = try Sink()
        let api = AnonymousRequestProvider(baseURL: try #require(URL(string: "http://127.0.0.1:\(sink.port)")))
        let request = api.post(.multipart([.text("x", name: "t"), .file(at: file, name: "f")], boundary: "B"), to: "/")
        let length = try #require(try request.prepared().body.measuredLength())
        #expect(length > size)
        let received = AsyncStream.makeStream(of: Int.self)
        sink.serve(length) { received.continuation.yield($0) }
        try await SocketExecutor().perform(request.timeout(after: .seconds(600)))
        for await count in received.stream {
            #expect(count == length)
            break
        }
    }

    @Test("a file part of 4 GiB is uploaded within 32 MiB of memory")
    func fileOfFourGiB() async throws {
        // The pages of the program's code count as memory once they are used.
        try await Self.upload(64 << 20)
        try Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))  // resets the high-water mark
        let before = try Self.kibibytes("VmRSS:")
        try await Self.upload(4 << 30)
        let growth = try Self.kibibytes("VmHWM:") - before
        print("memory grew by at most \(growth) KiB")
        #expect(growth < 32 << 10)
    }
}
