package import RequestsPOSIX

/// Middleware that requests content codings and decodes them, for executors that do not do so themselves (RFC 9110
/// §8.4, §12.5.3).
///
/// ```swift
/// let client = Client(api, executor: SocketExecutor().decodingContent())
/// ```
///
/// It requests gzip and deflate in Accept-Encoding, and br and zstd, each if the system has its library (zlib,
/// libbrotlidec, libzstd). The libraries are found at run time; nothing is linked. Bodies are decoded in every
/// ``/Requests/ResponseBody/Delivery``: streams as they arrive, one piece at a time, and files while they are written.
/// The decoded response has neither Content-Encoding nor Content-Length; its ``/Requests/RawResponse/Metrics`` contain
/// both. Progress counts encoded bytes.
///
/// ``Limits`` bound the decoded size. A body beyond them fails with ``/Requests/RequestError/Reason/tooLarge(limit:)``.
/// A body that cannot be decoded fails with ``/Requests/RequestError/Reason/protocolViolation`` and a
/// ``ContentCodingError``: its coding is corrupt, truncated or unknown, or bytes follow its end. Several gzip members,
/// or several Zstandard frames, form one body. Deflate is decoded with and without its zlib wrapper.
///
/// These requests and their responses are not changed:
///
/// - Requests with their own Accept-Encoding, including `identity`. Their caller decodes the response.
/// - Requests with a Range, which counts stored bytes (RFC 9110 §14), and HEAD requests.
/// - Requests for a file if an executor behind this middleware resumes downloads (``ResumingDownloads``, in either
///   order) or decodes content itself (URLSession).
///
/// These responses are not decoded: those without content (HEAD, 204, 304, a Content-Length of 0), partial responses
/// (206) and redirects that are followed. If the status is 2xx, a body of zero bytes that does not declare its length,
/// such as an empty chunked one, is an error, because it is truncated. With any other status it is returned, because
/// servers send the coding of a body that they omit. A streamed `text/event-stream` may end anywhere, because servers
/// flush it and do not end it.
public struct ContentDecoding: Middleware {
    private let limits: Limits
    private let codings: [ContentCoding]
    /// The Accept-Encoding field; nil if the system has no library for any coding.
    private let offer: Field?

    /// Creates the middleware with `limits`.
    public init(limits: Limits = Limits()) {
        self.init(limits: limits, codings: ContentCoding.available)
    }

    /// Creates the middleware for some of the available codings.
    package init(limits: Limits = Limits(), codings: [ContentCoding]) {
        self.limits = limits
        self.codings = codings
        let names = codings.map(\.rawValue).joined(separator: ", ")
        offer = names.isEmpty ? nil : Field(name: .acceptEncoding, value: names)
    }

    /// The names of the codings that can be decoded on this system, as in Accept-Encoding; it may be empty.
    package static var availableCodings: [String] { ContentCoding.available.map(\.rawValue) }

    /// Performs `request` with `next`, and decodes the response.
    ///
    /// - Throws: The ``/Requests/RequestError`` of `next`, or one for a body that cannot be decoded.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        let traits = next.traits
        guard appliesTo(request, before: traits) else { return try await next.execute(request) }
        let response: RawResponse
        do throws(RequestError) {
            response = try await next.execute(offering(request, before: traits))
        } catch {
            throw error.limited(for: request)
        }
        return try await deliver(decode(response, to: request), to: request)
    }
}

extension RequestExecutor {
    /// Returns this executor with middleware that requests content codings, such as gzip, and decodes them within
    /// `limits`.
    public func decodingContent(
        _ limits: ContentDecoding.Limits = ContentDecoding.Limits()
    ) -> Intercepted {
        intercepted(by: ContentDecoding(limits: limits))
    }
}

// MARK: Requesting codings

extension ContentDecoding {
    private func appliesTo(_ request: PreparedRequest, before traits: ExecutorTraits) -> Bool {
        guard request.permitsContentCodings else { return false }
        guard case .file = request.delivery else { return true }
        return !traits.contains(.writesFiles)
    }

    /// Returns the request for the next executor.
    ///
    /// This middleware writes files itself, with decoded bytes. It also enforces the limit of a collected body: an
    /// executor that does not stream encoded bodies counts encoded bytes, and receives a limit for those.
    private func offering(
        _ request: PreparedRequest, before traits: ExecutorTraits
    ) throws(RequestError) -> PreparedRequest {
        // The next executor does not know the file.
        try request.checkDelivery()
        return switch request.delivery {
        case .collected where traits.contains(.streamsEncodedBodies): request.offering(offer, permittingStream: true)
        case .collected(let limit):
            request.offering(
                offer, permittingStream: false, delivery: .collected(limit: Limits.encodedSize(collecting: limit)))
        case .streamed, .file: request.offering(offer, permittingStream: false, delivery: .streamed)
        }
    }
}

// MARK: Decoding

extension ContentDecoding {
    private func decode(
        _ response: RawResponse, to request: PreparedRequest
    ) async throws(RequestError) -> RawResponse {
        if case .file = response.body { return response }
        guard !response.hasNoContent, let chain = try makeChain(for: response.head, answering: request) else {
            return try await response.delivered(to: request)
        }
        let stream: ResponseStream
        switch response.body {
        case .stream(let body): stream = body
        case .bytes(let data): stream = ResponseStream(data)
        case .file: return response
        }
        if case .collected(let limit) = request.delivery {
            return try await collect(chain, of: response, stream, max(0, limit), to: request)
        }
        var decoded = response.withoutCodings(ofLength: stream.length)
        let body = DecodedBody(chain, of: stream, to: request)
        decoded.body = .stream(ResponseStream(PulledBody(body, response.request ?? request, decoded.head)))
        return decoded
    }

    /// Returns the response with its whole decoded body, of at most `limit` bytes.
    ///
    /// - Throws: `RequestError` with the decoded bytes as evidence.
    private func collect(
        _ chain: consuming DecodingChain, of response: RawResponse, _ stream: ResponseStream, _ limit: Int,
        to request: PreparedRequest
    ) async throws(RequestError) -> RawResponse {
        let decoded = response.withoutCodings(ofLength: nil)
        var body = DecodedBody(chain, of: stream, to: request, collecting: limit)
        var whole = Data()
        do throws(RequestError) {
            if let length = stream.length, length > Limits.encodedSize(collecting: limit) {
                throw RequestError(.tooLarge(limit: limit), detail: ErrorText.announced(length))
            }
            while let piece = try await body.next() {
                guard piece.count <= limit - whole.count else {
                    throw RequestError(
                        .tooLarge(limit: limit),
                        detail: "the decoded body is longer than \(ErrorText.bytes(limit))")
                }
                whole.append(piece)
            }
        } catch {
            throw error.adding(response: decoded.head, body: whole)
        }
        var collected = decoded
        collected.metrics.encodedBodyLength = body.encodedCount
        collected.body = .bytes(whole)
        // The trailers of a body in memory are already in the response.
        if case .stream = response.body { collected.trailers = stream.trailers }
        return collected
    }

    /// Returns the decoders for the codings of a response; nil if there are none, or if the body is not used.
    private func makeChain(
        for head: ResponseHead, answering request: PreparedRequest
    ) throws(RequestError) -> DecodingChain? {
        guard head.header.contains(.contentEncoding), !head.status.forbidsBody, head.status != 206 else { return nil }
        let list = ContentCodingList(head.header)
        guard !list.names.isEmpty, !request.follows(head) else { return nil }
        do throws(RequestError) {
            return try DecodingChain(
                list.codings(of: codings, limit: limits.codings), named: list.names, limits: limits,
                until: request.end(of: head))
        } catch {
            throw error.adding(response: head)
        }
    }
}

extension PreparedRequest {
    /// Returns the positions at which the coded body of a response to this request may end.
    fileprivate func end(of head: ResponseHead) -> DecodingChain.End {
        guard head.status.isSuccess else { return .completeOrEmpty }
        return permitsCutCoding(of: head) ? .anywhere : .complete
    }
}

extension RequestError {
    /// Returns this error with the limit of `request`, if the error is that the next executor's limit for encoded bytes
    /// was reached.
    fileprivate func limited(for request: PreparedRequest) -> RequestError {
        guard case .collected(let limit) = request.delivery, case .tooLarge(let encoded) = reason, encoded != limit,
            encoded == ContentDecoding.Limits.encodedSize(collecting: limit)
        else { return self }
        return RequestError(
            .tooLarge(limit: limit), detail: "the body before decoding is longer than \(ErrorText.bytes(encoded))",
            underlying: underlying, request: self.request, response: response, body: body
        ).adding(attempts: attempts)
    }
}

extension RawResponse {
    /// Whether the response has a coding but no content.
    ///
    /// A success with zero bytes has no content only if it declares the length 0; otherwise its body is truncated.
    fileprivate var hasNoContent: Bool {
        switch body {
        case .stream(let stream): return stream.length == 0
        case .bytes(let data):
            guard data.isEmpty else { return false }
            return !head.status.isSuccess || head.header[.contentLength].map { Int($0) == 0 } ?? false
        case .file: return false
        }
    }

    /// Returns this response with its body unchanged, collected if the request requires that.
    fileprivate func delivered(to request: PreparedRequest) async throws(RequestError) -> RawResponse {
        guard case .collected(let limit) = request.delivery, case .stream(let stream) = body else {
            try checkSize(within: request.delivery)
            return self
        }
        var (copy, whole) = (self, Data())
        do throws(RequestError) {
            if let length = stream.length, length > limit {
                throw RequestError(.tooLarge(limit: limit), detail: ErrorText.announced(length))
            }
            while let chunk = try await stream.next() {
                guard chunk.count <= limit - whole.count else { throw Self.bodyTooLarge(limit) }
                whole.append(chunk)
            }
        } catch {
            throw error.adding(response: head, body: whole)
        }
        copy.body = .bytes(whole)
        copy.trailers = stream.trailers
        return copy
    }

    /// Checks the length of the body if it is in memory.
    ///
    /// - Throws: `RequestError` with `tooLarge` if the body is longer than `delivery` allows.
    fileprivate func checkSize(within delivery: ResponseBody.Delivery) throws(RequestError) {
        guard case .collected(let limit) = delivery, case .bytes(let data) = body, data.count > max(0, limit) else {
            return
        }
        throw Self.bodyTooLarge(limit).adding(response: head, body: data.prefix(max(0, limit)))
    }

    private static func bodyTooLarge(_ limit: Int) -> RequestError {
        RequestError(.tooLarge(limit: limit), detail: "the response body is longer than \(ErrorText.bytes(limit))")
    }

    /// Returns this response with a header for the decoded body, and metrics for the encoded body.
    func withoutCodings(ofLength length: Int?) -> RawResponse {
        var copy = self
        copy.metrics.contentEncoding = head.header[.contentEncoding]
        copy.metrics.encodedBodyLength = length
        copy.head.header.removeAll { $0.name == .contentEncoding || $0.name == .contentLength }
        return copy
    }
}
