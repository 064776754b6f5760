internal import RequestsPOSIX

extension ContentDecoding {
    /// The response in the form that `request` asked for: what it wanted in a file came as a stream.
    func deliver(_ response: RawResponse, to request: PreparedRequest) async throws(RequestError) -> RawResponse {
        guard case .file(let path) = request.delivery else { return response }
        guard response.head.status.isSuccess else {
            return try await response.collected(limit: Delivery.errorBodyLimit)
        }
        let stream: ResponseStream
        switch response.body {
        case .stream(let body): stream = body
        case .bytes(let data): stream = ResponseStream(data)
        case .file: throw RequestError(.other, detail: "the executor has written a file that it was not asked for")
        }
        do {
            var writer = try FileWriter(replacing: path)
            while let chunk = try await stream.next() {
                try chunk.withUnsafeBytes { try writer.write($0) }
            }
            try writer.finish()
        } catch let error as RequestError {
            throw error.adding(request: request, response: response.head)
        } catch {
            throw RequestError(
                .other, detail: "\(error)", underlying: error, request: request, response: response.head)
        }
        var written = response
        written.body = .file(path: path)
        if case .stream = response.body { written.trailers = stream.trailers }
        return written
    }
}
