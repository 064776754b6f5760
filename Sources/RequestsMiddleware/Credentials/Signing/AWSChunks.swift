/// A body in chunks that are signed one after the other (`aws-chunked`).
package struct AWSChunks: Sendable {
    private let scope: AWSScope
    private let seed: String
    private let size: Int

    /// Creates the encoding of bodies.
    ///
    /// - Parameters:
    ///   - scope: The time, scope and key.
    ///   - seed: The signature of the request, which the first chunk continues.
    ///   - size: The size of a chunk in bytes, from 1 to 1 GiB; other values are limited to that.
    package init(_ scope: AWSScope, seed: String, size: Int) {
        self.scope = scope
        self.seed = seed
        self.size = min(max(1, size), 1 << 30)
    }

    /// Returns `body`, which has `length` bytes, in signed chunks.
    package func encoding(_ body: RequestBody, ofLength length: Int) -> RequestBody {
        .stream(length: encodedLength(length), isReplayable: body.isReplayable) {
            AWSChunkSource(base: try body.makeSource(), scope: scope, signature: seed, size: size)
        }
    }

    /// Returns the encoded length of a body of `length` bytes; nil if it cannot be represented.
    func encodedLength(_ length: Int) -> Int? {
        let (count, last) = length.quotientAndRemainder(dividingBy: size)
        let (whole, isTooLarge) = Self.encodedLength(ofChunk: size).multipliedReportingOverflow(by: count)
        if isTooLarge { return nil }
        let end = (last > 0 ? Self.encodedLength(ofChunk: last) : 0) + Self.encodedLength(ofChunk: 0)
        let (sum, isSumTooLarge) = whole.addingReportingOverflow(end)
        return isSumTooLarge ? nil : sum
    }

    /// Returns the length of a chunk with its size in hexadecimal, `;chunk-signature=`, the signature and two line
    /// ends.
    private static func encodedLength(ofChunk size: Int) -> Int {
        String(size, radix: 16).utf8.count + 17 + 64 + 2 + size + 2
    }
}

private struct AWSChunkSource: RequestBody.Source {
    var base: any RequestBody.Source
    let scope: AWSScope
    var signature: String
    let size: Int
    var buffer = Data()
    var isBaseAtEnd = false
    var isAtEnd = false

    mutating func next() async throws -> Data? {
        if isAtEnd { return nil }
        while !isBaseAtEnd, buffer.count < size {
            guard let more = try await base.next() else {
                isBaseAtEnd = true
                break
            }
            // A slice keeps the bytes before it. It is shorter than a chunk, so copying it takes linear time.
            if buffer.startIndex > 0 { buffer = Data(buffer) }
            buffer.append(more)
        }
        let chunk = Data(buffer.prefix(size))
        // The empty chunk is the last one.
        isAtEnd = chunk.isEmpty
        // A slice: copying the remainder for each chunk would take quadratic time.
        buffer = buffer.count > size ? buffer.dropFirst(size) : Data()
        signature = try scope.signature(of: chunk, after: signature)
        var encoded = Data("\(String(chunk.count, radix: 16));chunk-signature=\(signature)\r\n".utf8)
        encoded.append(chunk)
        encoded.append(contentsOf: [0x0D, 0x0A])
        return encoded
    }
}
