extension CacheExchange {
    /// Returns the response to the request, made from a stored one; nil if the request must be forwarded.
    ///
    /// The result can have status 304 or 206, as the request's conditions require.
    func stored(_ stored: StoredResponse, at now: Double) -> RawResponse? {
        let age = stored.freshness.age(at: now)
        var header = stored.header(age: Self.seconds(age))
        var (status, body) = (stored.status, stored.body)
        // Conditions apply only to responses that would be successful without them (RFC 9110 §13.2.1).
        if stored.status == 200 {
            if hasPrecondition {
                guard let isCurrent = matchesPrecondition(stored) else { return nil }
                if isCurrent {
                    status = 304
                    header.removeAll { !Self.fieldsOfNotModified.contains($0.name) }
                    body = Data()
                }
            }
            if status == 200, hasRange, request.method == .get {
                guard let range = requestedRange(ofLength: body.count) else { return nil }
                status = 206
                header.set(
                    Field(name: .contentRange, value: ContentRange(bytes: range, length: body.count).fieldValue))
                header.set(Field(name: .contentLength, value: "\(range.count)"))
                let start = body.startIndex
                // A copy, because the indices of a received body begin at 0.
                body = Data(body[start + range.lowerBound...start + range.upperBound])
            }
        } else if hasRange {
            return nil
        }
        var metrics = RawResponse.Metrics(transmissions: 0)
        metrics.cacheStatus = RawResponse.Metrics.CacheStatus()
        metrics.cacheStatus?.timeToLive = Self.seconds(stored.freshness.lifetime - age)
        if request.method == .head { body = Data() }
        return RawResponse(
            head: ResponseHead(status: status, header: header, target: request.target), body: .bytes(body),
            metrics: metrics)
    }

    /// Returns a number of seconds, rounded down and limited to what a field can express.
    static func seconds(_ seconds: Double) -> Int {
        // The conversion to `Int` traps for infinity and NaN.
        Int(min(max(seconds, -2_147_483_648), 2_147_483_648).rounded(.down))
    }

    /// The fields of a response with status 304 (RFC 9110 §15.4.5).
    private static let fieldsOfNotModified: Set<Field.Name> = [
        .age, .cacheControl, .contentLocation, .date, .etag, .expires, .lastModified, .vary,
    ]

    /// Returns whether the caller's representation is current (RFC 9110 §13.1.2, §13.1.3); nil if its condition is
    /// malformed.
    private func matchesPrecondition(_ stored: StoredResponse) -> Bool? {
        if request.header.contains(.ifNoneMatch) {
            guard let condition = request.header.ifNoneMatch else { return nil }
            switch condition {
            case .any: return true
            case .tags(let tags):
                guard let tag = stored.header.entityTag else { return false }
                return tags.contains { $0.matchesWeakly(tag) }
            }
        }
        guard let since = request.header.date(of: .ifModifiedSince) else { return nil }
        let modified = stored.header.date(of: .lastModified) ?? stored.header.date(of: .date)
        return modified.map { $0 <= since } ?? false
    }

    /// Returns the byte range that the request specifies in a body of `length` bytes; nil if there are several or none.
    private func requestedRange(ofLength length: Int) -> ClosedRange<Int>? {
        guard let ranges = request.header.byteRanges, ranges.count == 1, length > 0 else { return nil }
        switch ranges[0] {
        case .bytes(let range) where range.lowerBound < length:
            return range.lowerBound...min(range.upperBound, length - 1)
        case .from(let first) where first < length: return first...length - 1
        case .suffix(let count) where count > 0: return max(0, length - count)...length - 1
        default: return nil
        }
    }

    /// Returns the response to a request that must not be sent (RFC 9111 §5.2.1.7).
    func gatewayTimeout(_ reason: ForwardReason) -> RawResponse {
        var metrics = RawResponse.Metrics(transmissions: 0)
        metrics.cacheStatus = RawResponse.Metrics.CacheStatus(forwardReason: reason)
        return RawResponse(
            head: ResponseHead(status: 504, header: [], target: request.target), body: .bytes(Data()), metrics: metrics)
    }

    /// Returns a response with the body in the form that the request specifies.
    func deliver(_ response: RawResponse) throws(RequestError) -> RawResponse {
        guard case .bytes(let body) = response.body else { return response }
        if let handler = request.progressHandler {
            var progress = TransferProgress()
            progress.bytesReceived = body.count
            progress.bytesExpectedToReceive = body.count
            handler(progress)
        }
        switch request.delivery {
        case .collected(let limit):
            guard body.count > limit else { return response }
            throw RequestError(
                .tooLarge(limit: limit), detail: "the response body is longer than \(ErrorText.bytes(limit))",
                request: request, response: response.head)
        case .streamed:
            var response = response
            let source = PulledBody(CachedBody(body), request, response.head)
            response.body = .stream(ResponseStream(length: body.count, source))
            return response
        case .file: return response
        }
    }
}
