internal import RequestsPOSIX

/// Goes on with downloads to a file where they were interrupted, in this run of the program or in an earlier one.
///
/// ```swift
/// let client = Client(api, executor: SocketExecutor().resumingDownloads())
/// let file = try await client.perform(api.get(.download(to: "/tmp/big.iso"), from: "/big.iso"))
/// ```
///
/// When the call fails half way, what has arrived stays in a file next to the one asked for, `/tmp/big.iso.partial`,
/// with what the server said of it in `/tmp/big.iso.partial.json`. The same call made again asks for the rest with
/// Range and If-Range (RFC 9110 §14.2, §13.1.5), and only when a strong entity tag, or a date that can serve as one,
/// says which bytes they are; otherwise, and when the server has others by now, it begins anew. When all bytes are there
/// the file appears, in one step in the place of what was there. It is not asked for again by itself: that is the part
/// of whoever calls, or of a retry before this middleware.
///
/// It concerns GET requests whose ``Delivery`` is a file and which have no Range of their own; others pass. They ask for
/// `Accept-Encoding: identity` unless they say otherwise, because ranges count bytes as they are stored. The response of
/// a resumed download has status 200 and the fields of the last answer, without Content-Range.
///
/// Two downloads to one path at a time are refused: the second fails with ``RequestError/Reason/other``. Bytes are not
/// forced to the disk, so after the machine itself has failed the file's end may be missing or wrong: remove what is
/// partial then. On Linux URLSession keeps what has arrived in memory until it is written.
public struct ResumingDownloads: Middleware {
    /// The middleware.
    public init() {}

    /// Downloads, or goes on downloading, what `request` asks for into its file; other requests pass.
    ///
    /// - Throws: ``RequestError``: what ended the download early, or ``RequestError/Reason/other`` with what the file
    ///   system says.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard case .file(let path) = request.delivery, request.method == .get, !request.header.contains(.range) else {
            return try await next.execute(request)
        }
        var download = try Download(path)
        var point = download.point(for: request.target)
        while true {
            let response = try await next.execute(request.asking(for: point, after: download.count))
            switch ResumePoint.step(for: response, at: point, after: download.count) {
            case .append(let end, let length):
                try await download.append(response, until: end)
                if let length, download.count < length { continue }
                return try download.finished(response)
            case .finish: return try download.finished(response)
            case .replace:
                try await download.replace(response)
                return try download.finished(response)
            case .startOver: point = nil
            case .handOver: return try await response.collected(limit: Delivery.errorBodyLimit)
            case .refuse:
                throw RequestError(.protocolViolation, detail: "a part that was not asked for", response: response.head)
            }
        }
    }
}

extension ResumingDownloads: NeedsFileDelivery {
    /// It does: a file that is asked for as a stream is not gone on with.
    package var needsFileDelivery: Bool { true }
}

extension RequestExecutor {
    /// This executor going on with downloads to a file where they were interrupted.
    public func resumingDownloads() -> Intercepted<Self, ResumingDownloads> {
        intercepted(by: ResumingDownloads())
    }

    /// The same for an executor whose type is not known, such as one chosen at run time.
    @_disfavoredOverload
    public func resumingDownloads() -> any RequestExecutor {
        intercepted(by: ResumingDownloads())
    }
}

extension PreparedRequest {
    /// This request for what follows the first `count` bytes of `point`, or for the whole, arriving as a stream.
    fileprivate func asking(for point: ResumePoint?, after count: Int) -> PreparedRequest {
        var copy = self
        copy.delivery = .streamed
        if !header.contains(.acceptEncoding) { copy.header.add(Field(name: .acceptEncoding, value: "identity")) }
        guard let point else { return copy }
        for field in point.fields(after: count) { copy.header.set(field) }
        guard let onProgress else { return copy }
        copy.onProgress = { progress in
            var progress = progress
            progress.received = progress.received.addingReportingOverflow(count).partialValue
            progress.totalToReceive =
                point.length
                ?? progress.totalToReceive.flatMap { total in
                    // The server chose the total: a sum that no number can hold is unknown.
                    let (sum, isTooLarge) = total.addingReportingOverflow(count)
                    return isTooLarge ? nil : sum
                }
            onProgress(progress)
        }
        return copy
    }
}

extension RawResponse {
    /// This response with the beginning of its body in memory, as an executor gives one that is not written to a file.
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
