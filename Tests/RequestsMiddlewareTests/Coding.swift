import CRequestsPOSIX
import Requests
import RequestsMock
import RequestsPOSIX
import Testing

/// The content codings, with the encoders of the libraries whose decoders are tested.
enum Coding: String, CaseIterable, CustomTestStringConvertible {
    case gzip, deflate
    /// Deflate without the zlib wrapper, as some servers send it.
    case bareDeflate
    case brotli, zstd

    var testDescription: String { rawValue }

    /// The name of the coding in Content-Encoding.
    var name: String {
        switch self {
        case .gzip, .zstd: rawValue
        case .deflate, .bareDeflate: "deflate"
        case .brotli: "br"
        }
    }

    /// The codings for which the system has a decoder and an encoder.
    static let available = allCases.filter { coding in
        ContentCoding.available.contains { $0.rawValue == coding.name } && coding.apply(to: Data([1])) != nil
    }

    /// Returns `data` in this coding, or nil if the system has no encoder.
    func apply(to data: Data) -> Data? {
        switch self {
        case .gzip: Deflater(windowBits: rp_z_gzip)?.finish(data)
        case .deflate: Deflater(windowBits: rp_z_wrapped)?.finish(data)
        case .bareDeflate: Deflater(windowBits: rp_z_raw)?.finish(data)
        case .brotli: Self.brotli(data)
        case .zstd: Self.zstd(data)
        }
    }

    private static func brotli(_ data: Data) -> Data? {
        typealias Compress =
            @convention(c) (
                CInt, CInt, CInt, Int, UnsafeRawPointer?, UnsafeMutablePointer<Int>, UnsafeMutableRawPointer?
            ) -> CInt
        guard let compress: Compress = function("BrotliEncoderCompress", of: "libbrotlienc.so.1") else { return nil }
        return output(data.count + 1_024, of: data) { bytes, output in
            var count = output.count
            let isDone = compress(5, 22, 0, bytes.count, bytes.baseAddress, &count, output.baseAddress)
            return isDone == 1 ? count : nil
        }
    }

    private static func zstd(_ data: Data) -> Data? {
        typealias Compress =
            @convention(c) (
                UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int, CInt
            ) -> Int
        guard let compress: Compress = function("ZSTD_compress", of: "libzstd.so.1") else { return nil }
        return output(data.count + 1_024, of: data) { bytes, output in
            let count = compress(output.baseAddress, output.count, bytes.baseAddress, bytes.count, 3)
            return count <= output.count ? count : nil
        }
    }

    private static func output(
        _ size: Int, of data: Data, _ body: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Int?
    ) -> Data? {
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        defer { output.deallocate() }
        return data.withUnsafeBytes { body($0, output) }.map { Data(output[..<$0]) }
    }
}

/// Returns a function of a library, or nil if the library is missing.
private func function<Function>(_ name: String, of library: String) -> Function? {
    guard let library = dlopen(library, RTLD_NOW), let address = dlsym(library, name) else { return nil }
    // The caller declares the type of the C function.
    return unsafeBitCast(address, to: Function.self)
}

/// The encoder of zlib for one body.
final class Deflater {
    private typealias Begin =
        @convention(c) (
            UnsafeMutablePointer<rp_z_stream>, CInt, CInt, CInt, CInt, CInt, UnsafePointer<CChar>, CInt
        ) -> CInt
    private typealias Encode = @convention(c) (UnsafeMutablePointer<rp_z_stream>, CInt) -> CInt
    private typealias End = @convention(c) (UnsafeMutablePointer<rp_z_stream>) -> CInt

    private let stream: UnsafeMutablePointer<rp_z_stream>
    private let encode: Encode
    private let end: End

    init?(windowBits: Int32, level: Int32 = 6) {
        let library = "libz.so.1"
        guard let begin: Begin = function("deflateInit2_", of: library),
            let encode: Encode = function("deflate", of: library), let end: End = function("deflateEnd", of: library)
        else { return nil }
        (self.encode, self.end) = (encode, end)
        stream = .allocate(capacity: 1)
        stream.initialize(to: rp_z_stream())
        _ = begin(stream, level, 8, windowBits, 8, 0, "1", CInt(MemoryLayout<rp_z_stream>.size))
    }

    deinit {
        _ = end(stream)
        stream.deallocate()
    }

    /// Encodes `data` and ends the body.
    func finish(_ data: Data) -> Data { append(data, flush: 4) }

    /// Encodes `data` so that the returned bytes can be decoded without the following ones (Z_SYNC_FLUSH).
    func append(_ data: Data) -> Data { append(data, flush: 2) }

    /// Encodes `data` without references to earlier data (Z_FULL_FLUSH).
    func block(_ data: Data) -> Data { append(data, flush: 3) }

    private func append(_ data: Data, flush: CInt) -> Data {
        var coded = Data()
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { output.deallocate() }
        data.withUnsafeBytes { bytes in
            stream.pointee.next_in = bytes.bindMemory(to: UInt8.self).baseAddress
            stream.pointee.avail_in = UInt32(bytes.count)
            repeat {
                stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                _ = encode(stream, flush)
                coded.append(contentsOf: output.dropLast(Int(stream.pointee.avail_out)))
            } while stream.pointee.avail_out == 0
        }
        return coded
    }
}

/// Returns gzip data, truncated and about 1,000 times shorter, that decodes to `mebibytes` MiB of zeros.
func bomb(mebibytes: Int) -> Data {
    guard let deflater = Deflater(windowBits: rp_z_gzip, level: 9) else { return Data() }
    let zeros = Data(count: 8 << 20)
    var bomb = deflater.block(zeros)
    // Blocks after the first have no header, and after a full flush they can be repeated.
    let block = deflater.block(zeros)
    bomb.reserveCapacity(bomb.count + block.count * (mebibytes / 8))
    for _ in 1..<max(2, mebibytes / 8) { bomb.append(block) }
    return bomb
}

extension MockResponse {
    /// Returns this response with `coding` in Content-Encoding.
    func coded(_ coding: String) -> MockResponse { adding(headerField: Field(name: .contentEncoding, value: coding)) }

    /// Returns a response with `data`, and `coding` in Content-Encoding.
    static func coded(_ data: Data, _ coding: String, status: HTTPStatus = 200) -> MockResponse {
        .data(data, status: status).coded(coding)
    }

    /// Returns a response with `data` byte by byte, and `coding` in Content-Encoding.
    static func bytewise(_ data: Data, _ coding: String) -> MockResponse {
        MockResponse(body: data.map { .bytes(Data([$0])) }).coded(coding)
    }
}

extension RawResponse {
    var stream: ResponseStream? { if case .stream(let stream) = body { stream } else { nil } }

    /// Returns the whole body, whatever its form.
    func whole() async throws(RequestError) -> Data {
        switch body {
        case .bytes(let data): data
        case .stream(let stream): try await stream.collect(limit: .max)
        case .file(let path): FileManager.default.contents(atPath: path) ?? Data()
        }
    }
}
