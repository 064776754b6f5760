import Requests
import RequestsPOSIX

extension Transfer {
    /// Collects the body in memory, as ``BodyCollection`` does.
    mutating func collect(_ limit: Int, _ head: ResponseHead, isWhole: Bool = true) async throws(RequestError) -> Data {
        var collection = try BodyCollection(of: self, limit, head, isWhole: isWhole)
        do throws(RequestError) {
            while let pause = try collection.receive(from: &self) { try await take(pause) }
        } catch {
            throw error.adding(response: head, body: collection.take())
        }
        return collection.take()
    }

    /// Collects the body like `collect`, blocking the calling thread for each wait.
    mutating func collectInPlace(_ limit: Int, _ head: ResponseHead) throws(RequestError) -> Data {
        var collection = try BodyCollection(of: self, limit, head)
        do throws(RequestError) {
            while let pause = try collection.receive(from: &self) { try takeInPlace(pause) }
        } catch {
            throw error.adding(response: head, body: collection.take())
        }
        return collection.take()
    }

    /// Writes the body to the file at `path`, which appears whole or not at all (decision 0003).
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
            throw RequestError(.fileAccessFailed, detail: "\(error)", underlying: error, response: head)
        }
    }

    /// Reads the end of an empty body.
    mutating func finishEmptyBody() async throws(RequestError) {
        _ = try await receiveBody(into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
    }
}
