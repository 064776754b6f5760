import Requests
import RequestsPOSIX

extension Transfer {
    /// The whole body, in memory.
    ///
    /// More than `limit` bytes are an error, known from Content-Length before one is read; with `isWhole` false they are
    /// cut off instead, and the connection is not used again.
    mutating func collect(_ limit: Int, _ head: ResponseHead, isWhole: Bool = true) async throws(RequestError) -> Data {
        let limit = max(0, limit)
        if isWhole, let length = expectedLength, length > limit {
            throw RequestError(.tooLarge(limit: limit), detail: "\(length) bytes announced", response: head)
        }
        // One byte more than allowed tells a body that is too long.
        let room = isWhole ? max(limit, limit &+ 1) : limit
        var body = BodyBuffer(expecting: expectedLength, limit: min(room, expectedLength ?? room))
        do throws(RequestError) {
            while true {
                // More memory is asked for only when there is more to come.
                if body.isFull, try endsAtOnce() { return body.take() }
                guard let count = try bodyAtOnce(into: body.space()) else {
                    try await pause()
                    continue
                }
                if count == 0 { return body.take() }
                body.add(count)
                guard !isWhole || body.count <= limit else { throw RequestError(.tooLarge(limit: limit)) }
            }
        } catch {
            throw error.adding(response: head, body: body.take())
        }
    }

    /// Writes the body to the file at `path`, which appears whole or not at all.
    mutating func save(to path: String, _ head: ResponseHead) async throws(RequestError) {
        do {
            var writer = try FileWriter(replacing: path)
            let piece = UnsafeMutableRawBufferPointer.allocate(
                byteCount: min(256 << 10, max(1, expectedLength ?? .max)), alignment: 1)
            defer { piece.deallocate() }
            while true {
                let count = try await receiveBody(into: piece)
                if count == 0 { break }
                try writer.write(UnsafeRawBufferPointer(rebasing: piece.prefix(count)))
            }
            try writer.finish()
        } catch let error as RequestError {
            throw error.adding(response: head)
        } catch {
            throw RequestError(.other, detail: "\(error)", underlying: error, response: head)
        }
    }

    /// Reads the end of a body that has no bytes.
    mutating func finishEmptyBody() async throws(RequestError) {
        _ = try await receiveBody(into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
    }
}
