package import RequestsPOSIX

/// Asks for bodies in content codings and undoes them, for executors that do not by themselves (RFC 9110 §8.4, §12.5.3).
///
/// ```swift
/// let client = Client(api, executor: SocketExecutor().decodingContent())
/// ```
///
/// It offers gzip and deflate in Accept-Encoding, and br and zstd, each where the system has the library for it (zlib,
/// libbrotlidec, libzstd), which is found when the program runs; nothing is linked. Bodies are decoded in every form of
/// ``Delivery``: streams as they arrive, one piece at a time, and files as they are written. The response then has neither
/// Content-Encoding nor Content-Length, and its ``RawResponse/Metrics`` have both. Progress counts the bytes as they are
/// sent.
///
/// How much comes out of how little is bounded by ``Limits``; beyond them the error is
/// ``RequestError/Reason/tooLarge(limit:)``. What cannot be decoded is ``RequestError/Reason/protocolViolation`` with a
/// ``ContentCodingError``: a coding that is damaged or ends early, bytes behind its end, one that is not known. Several
/// gzip members, or frames of Zstandard, are one body; deflate is read with its wrapper and without.
///
/// Left alone, offered nothing and their responses as they come, are:
///
/// - requests with an Accept-Encoding of their own, `identity` included: who asks by hand decodes by hand;
/// - requests with a Range, whose bytes are counted as they are stored (RFC 9110 §14), and HEAD;
/// - requests for files that an executor behind this one goes on with (``ResumingDownloads``, in either order), or decodes
///   by itself (URLSession).
///
/// So are responses without content (HEAD, 204, 304, a Content-Length of 0), parts (206), and redirects that are going to be
/// followed. A body that has no bytes and does not declare it, such as an empty chunked one, ends before its coding does and
/// is an error.
public struct ContentDecoding: Middleware {
    private let limits: Limits
    private let codings: [ContentCoding]
    private let offer: Field?
    /// Whether what comes next gives a coded body that is to be collected as it arrives.
    private let isNextStreaming: Bool

    /// The middleware, keeping `limits`.
    public init(limits: Limits = Limits()) {
        self.init(limits: limits, before: nil)
    }

    fileprivate init(limits: Limits, before next: (any RequestExecutor)?) {
        self.init(limits: limits, codings: ContentCoding.available, isNextStreaming: next is any StreamsCodedBodies)
    }

    /// The middleware for some of the codings that are available.
    package init(limits: Limits = Limits(), codings: [ContentCoding], isNextStreaming: Bool = false) {
        self.isNextStreaming = isNextStreaming
        self.limits = limits
        self.codings = codings
        let names = codings.map(\.rawValue).joined(separator: ", ")
        offer = names.isEmpty ? nil : Field(name: .acceptEncoding, value: names)
    }

    /// The codings that can be undone on this system, as Accept-Encoding names them; perhaps none.
    public static var availableCodings: [String] { ContentCoding.available.map(\.rawValue) }

    /// Performs `request` and undoes the codings of its response.
    ///
    /// - Throws: ``RequestError``, that of `next`, or what is wrong with the body.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard concerns(request, next) else { return try await next.execute(request) }
        let response = try await received(for: request) { () async throws(RequestError) in
            try await next.execute(offering(request))
        }
        return try await deliver(decode(response, to: request), to: request)
    }

    /// The same on the calling thread, for bodies that are collected.
    ///
    /// - Throws: ``RequestError``, that of `next`, or what is wrong with the body.
    public func interceptBlocking(
        _ request: PreparedRequest, next: any RequestExecutor
    ) throws(RequestError) -> BlockingExecution {
        guard case .collected = request.delivery else {
            return .suspended { () async throws(RequestError) in try await intercept(request, next: next) }
        }
        guard concerns(request, next) else { return try next.executeBlocking(request) }
        switch try execution(of: request, next) {
        case .response(let response):
            // What has not come whole yet is decoded as it comes.
            guard case .bytes(let data) = response.body else {
                return .suspended { () async throws(RequestError) in try await decode(response, to: request) }
            }
            guard !response.declaresNoContent, let chain = try chain(for: response.head, answering: request) else {
                return .response(try response.within(request.delivery, of: request))
            }
            var body = DecodedCollection(chain, of: response, to: request)
            body.put(data)
            while case .tired = try body.advance() { try request.checkTime() }
            return .response(try body.finish())
        case .suspended(let rest):
            return .suspended { () async throws(RequestError) in
                try await decode(received(for: request, rest), to: request)
            }
        }
    }

    private func execution(
        of request: PreparedRequest, _ next: any RequestExecutor
    ) throws(RequestError) -> BlockingExecution {
        do throws(RequestError) {
            return try next.executeBlocking(offering(request))
        } catch {
            throw error.limited(for: request)
        }
    }

    private func received(
        for request: PreparedRequest, _ operation: () async throws(RequestError) -> RawResponse
    ) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            return try await operation()
        } catch {
            throw error.limited(for: request)
        }
    }
}

extension RequestExecutor {
    /// This executor asking for bodies in content codings, gzip for example, and undoing them within `limits`.
    public func decodingContent(
        _ limits: ContentDecoding.Limits = ContentDecoding.Limits()
    ) -> Intercepted<Self, ContentDecoding> {
        intercepted(by: ContentDecoding(limits: limits, before: self))
    }

    /// The same for an executor whose type is not known, such as one chosen at run time.
    @_disfavoredOverload
    public func decodingContent(
        _ limits: ContentDecoding.Limits = ContentDecoding.Limits()
    ) -> any RequestExecutor {
        intercepted(by: ContentDecoding(limits: limits, before: self))
    }
}

// MARK: Asking

extension ContentDecoding {
    private func concerns(_ request: PreparedRequest, _ next: any RequestExecutor) -> Bool {
        let header = request.header
        guard request.method != .head, !header.contains(.acceptEncoding), !header.contains(.range) else { return false }
        guard case .file = request.delivery else { return true }
        return (next as? any NeedsFileDelivery)?.needsFileDelivery != true
    }

    /// The request that is sent on.
    ///
    /// Files are written here, of what has been decoded. The limit of a collected body is kept here, too: an executor that
    /// does not stream coded bodies counts coded bytes, and has a limit for those.
    private func offering(_ request: PreparedRequest) -> PreparedRequest {
        switch request.delivery {
        case .collected where isNextStreaming: request.offering(offer, streamingCoded: true)
        case .collected(let limit):
            request.offering(
                offer, streamingCoded: false, delivery: .collected(limit: Limits.encodedSize(collecting: limit)))
        case .streamed, .file: request.offering(offer, streamingCoded: false, delivery: .streamed)
        }
    }
}

// MARK: Undoing

extension ContentDecoding {
    private func decode(
        _ response: RawResponse, to request: PreparedRequest
    ) async throws(RequestError) -> RawResponse {
        let stream: ResponseStream
        switch response.body {
        case .stream(let body): stream = body
        case .bytes(let data): stream = ResponseStream(data)
        case .file: return response
        }
        guard !response.declaresNoContent, let chain = try chain(for: response.head, answering: request) else {
            return try await response.asAsked(by: request)
        }
        if case .collected = request.delivery {
            return try await DecodedCollection(chain, of: response, to: request).collect(stream)
        }
        var decoded = response.withoutCodings(ofLength: stream.length)
        let body = DecodedBody(chain, of: stream, to: request)
        decoded.body = .stream(ResponseStream(PulledBody(body, request, decoded.head)))
        return decoded
    }

    /// What undoes the codings of a response; nil when there are none, or nobody wants it.
    private func chain(
        for head: ResponseHead, answering request: PreparedRequest
    ) throws(RequestError) -> DecodingChain? {
        guard head.header.contains(.contentEncoding), !head.status.forbidsBody, head.status != 206 else { return nil }
        let list = ContentCodingList(head.header)
        guard !list.names.isEmpty, !request.follows(head) else { return nil }
        do throws(RequestError) {
            return try DecodingChain(
                list.codings(of: codings, limit: limits.codings), named: list.names, limits: limits)
        } catch {
            throw error.adding(request: request, response: head)
        }
    }
}

extension PreparedRequest {
    /// Throws when the call was cancelled or its time is over: for stretches of work without a wait.
    func checkTime() throws(RequestError) {
        if Task.isCancelled { throw RequestError(.cancelled) }
        if hasDeadline, let deadline, deadline <= .now { throw RequestError(.timedOut(.total)) }
    }
}

extension RequestError {
    /// This error with the limit of `request`, where the next executor has reached the one for coded bytes.
    fileprivate func limited(for request: PreparedRequest) -> RequestError {
        guard case .collected(let limit) = request.delivery, case .tooLarge(let encoded) = reason, encoded != limit,
            encoded == ContentDecoding.Limits.encodedSize(collecting: limit)
        else { return self }
        return RequestError(
            .tooLarge(limit: limit), detail: "more than \(encoded) bytes as it is sent", underlying: underlying,
            request: self.request, response: response, body: body
        ).adding(attempts: attempts)
    }
}

extension RawResponse {
    /// Whether the head says that there is no content, so that a coding it names was applied to nothing.
    ///
    /// A body whose length is not declared is a coded one even when it has no bytes: it ends before its coding does.
    fileprivate var declaresNoContent: Bool {
        switch body {
        case .stream(let stream): return stream.length == 0
        case .bytes(let data):
            guard data.isEmpty, let length = head.header[.contentLength] else { return false }
            return Int(length) == 0
        case .file: return false
        }
    }

    /// This response, whose body is left as it is, in memory where it was to be collected.
    fileprivate func asAsked(by request: PreparedRequest) async throws(RequestError) -> RawResponse {
        guard case .collected(let limit) = request.delivery, case .stream(let stream) = body else {
            return try within(request.delivery, of: request)
        }
        var (copy, whole) = (self, Data())
        do throws(RequestError) {
            if let length = stream.length, length > limit {
                throw RequestError(.tooLarge(limit: limit), detail: "\(length) bytes announced")
            }
            while let chunk = try await stream.next() {
                guard chunk.count <= limit - whole.count else { throw RequestError(.tooLarge(limit: limit)) }
                whole.append(chunk)
            }
        } catch {
            throw error.adding(request: request, response: head, body: whole)
        }
        copy.body = .bytes(whole)
        copy.trailers = stream.trailers
        return copy
    }

    /// This response, unless its body is in memory and longer than `delivery` allows.
    fileprivate func within(_ delivery: Delivery, of request: PreparedRequest) throws(RequestError) -> RawResponse {
        guard case .collected(let limit) = delivery, case .bytes(let data) = body, data.count > max(0, limit) else {
            return self
        }
        throw RequestError(
            .tooLarge(limit: limit), request: request, response: head, body: data.prefix(max(0, limit)))
    }

    /// This response with a header that describes the decoded body, and metrics that tell what it was.
    func withoutCodings(ofLength length: Int?) -> RawResponse {
        var copy = self
        copy.metrics.contentEncoding = head.header[.contentEncoding]
        copy.metrics.encodedBodyLength = length
        copy.head.header.removeAll { $0.name == .contentEncoding || $0.name == .contentLength }
        return copy
    }
}
