internal import RequestsPOSIX

extension ContentDecoding {
    /// Returns the response in the form that `request` requires: writes the stream of a download to its file.
    func deliver(_ response: RawResponse, to request: PreparedRequest) async throws(RequestError) -> RawResponse {
        guard case .file(let path) = request.delivery else { return response }
        guard response.head.status.isSuccess else {
            return try await response.collected(limit: ResponseBody.Delivery.errorBodyLimit)
        }
        let stream: ResponseStream
        switch response.body {
        case .stream(let body): stream = body
        case .bytes(let data): stream = ResponseStream(data)
        case .file: throw RequestError(.other, detail: "the executor delivered a file, not a stream")
        }
        do {
            var writer = try FileWriter(replacing: path)
            while let chunk = try await stream.next() {
                try chunk.withUnsafeBytes { try writer.write($0) }
            }
            try writer.finish()
        } catch let error as RequestError {
            throw error.adding(response: response.head)
        } catch {
            throw RequestError(
                .fileAccessFailed, detail: "\(error)", underlying: error, response: response.head)
        }
        var written = response
        written.body = .file(path: path)
        if case .stream = response.body { written.trailers = stream.trailers }
        return written
    }
}
