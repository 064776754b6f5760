internal import RequestsPOSIX

/// Middleware that resumes interrupted file downloads, also after a restart of the program.
///
/// ```swift
/// let client = Client(api, executor: SocketExecutor().resumingDownloads())
/// let url = URL(filePath: "/tmp/big.iso")
/// let request = api.get(.download(to: url), from: "/big.iso")
/// let file = try await client.perform(request)
/// ```
///
/// If a call fails before the download is complete, the received bytes are kept in a file next to the destination,
/// `/tmp/big.iso.partial`, and their resume point in `/tmp/big.iso.partial.json`. The same call made again requests the
/// remaining bytes with Range and If-Range (RFC 9110 §14.2, §13.1.5). It does so only if a strong entity tag, or a date
/// that is as reliable, identifies the bytes. Otherwise, or if the server has a different representation by then, the
/// download starts over, and the response's metrics contain the reason (`restartReason`). Once all bytes have arrived,
/// the file replaces an existing one at the destination in one step. This middleware does not repeat a failed call; the
/// caller does, or `retrying()` around this middleware.
///
/// The middleware handles GET requests whose ``/Requests/ResponseBody/Delivery`` is a file and that have no Range;
/// others are passed on unchanged. It adds `Accept-Encoding: identity` to requests without an Accept-Encoding, because
/// ranges count stored bytes. The response of a resumed download has status 200 and the fields of the last response,
/// without Content-Range.
///
/// A second download to the same path at the same time fails with ``/Requests/RequestError/Reason/fileAccessFailed``.
/// The bytes are not forced to the disk, so after a crash of the system or a power failure, the end of the partial file
/// may be missing or wrong; remove the partial file in that case. On Linux, URLSession keeps received bytes in memory
/// until they are written.
public struct ResumingDownloads: Middleware {
    /// Creates the middleware.
    public init() {}

    /// Downloads the response to `request` into its file, or resumes that download; other requests pass unchanged.
    ///
    /// - Throws: The ``/Requests/RequestError`` that ended the download, or
    ///   ``/Requests/RequestError/Reason/fileAccessFailed`` with the error of the file system.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard case .file(let path) = request.delivery, request.method == .get, !request.header.contains(.range) else {
            return try await next.execute(request)
        }
        var download = try Download(path)
        var point = download.point(for: request.target)
        var restart: String? = point == nil && download.count > 0 ? ResumePoint.missing : nil
        while true {
            var response = try await next.execute(request.resuming(at: point, after: download.count))
            switch ResumePoint.step(for: response, at: point, after: download.count) {
            case .append(let end, let length):
                try await download.append(response, until: end)
                if let length, download.count < length { continue }
                return try download.finished(response)
            case .finish: return try download.finished(response)
            case .replace:
                if point != nil { restart = ResumePoint.wholeSent }
                response.metrics.restartReason = restart
                try await download.replace(response)
                return try download.finished(response)
            // The next turn of the loop requests the whole representation.
            case .startOver:
                restart = response.head.status == 206 ? ResumePoint.otherPart : ResumePoint.rangeRefused
                point = nil
            case .deliver: return try await response.collected(limit: ResponseBody.Delivery.errorBodyLimit)
            case .refuse:
                throw RequestError(
                    .protocolViolation, detail: "unsolicited 206 Partial Content", response: response.head)
            }
        }
    }
}

extension ResumingDownloads {
    /// Adds `writesFiles`, because a download that is requested as a stream cannot be resumed.
    public func traits(before next: ExecutorTraits) -> ExecutorTraits {
        next.union(.writesFiles).subtracting(.streamsEncodedBodies)
    }
}

extension RequestExecutor {
    /// Returns this executor with middleware that resumes interrupted file downloads.
    public func resumingDownloads() -> Intercepted {
        intercepted(by: ResumingDownloads())
    }
}

extension PreparedRequest {
    /// Returns this request for the bytes of `point` after the first `count`, delivered as a stream.
    ///
    /// If `point` is nil, the whole representation is requested.
    fileprivate func resuming(at point: ResumePoint?, after count: Int) -> PreparedRequest {
        var copy = self
        copy.delivery = .streamed
        if !header.contains(.acceptEncoding) { copy.header.add(Field(name: .acceptEncoding, value: "identity")) }
        guard let point else { return copy }
        for field in point.fields(after: count) { copy.header.set(field) }
        guard let progressHandler else { return copy }
        copy.progressHandler = { progress in
            var progress = progress
            progress.bytesReceived = progress.bytesReceived.addingReportingOverflow(count).partialValue
            progress.bytesExpectedToReceive =
                point.length
                ?? progress.bytesExpectedToReceive.flatMap { total in
                    // The server chose the total: a sum that overflows is unknown.
                    let (sum, isTooLarge) = total.addingReportingOverflow(count)
                    return isTooLarge ? nil : sum
                }
            progressHandler(progress)
        }
        return copy
    }
}

extension RawResponse {
    /// Returns this response with the beginning of its body in memory.
    ///
    /// Executors deliver a body in this way if they do not write it to a file.
    func collected(limit: Int) async throws(RequestError) -> RawResponse {
        guard case .stream(let stream) = body else { return self }
        var copy = self
        var beginning = Data()
        while beginning.count < limit, let chunk = try await stream.next() {
            beginning.append(chunk.prefix(limit - beginning.count))
        }
        copy.body = .bytes(beginning)
        copy.trailers = stream.trailers
        return copy
    }
}
