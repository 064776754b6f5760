internal import RequestsPOSIX

extension AWSSignature {
    /// The names of fields that proxies and executors change, and of the signature itself.
    private static let unsignedNames: Set<String> = [
        "authorization", "connection", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization", "te",
        "trailer", "transfer-encoding", "upgrade", "user-agent", "x-amzn-trace-id",
    ]

    private static let algorithm = "AWS4-HMAC-SHA256"

    /// Returns the canonical form of a signed request, for tests.
    package func canonicalRequest(of request: PreparedRequest, bodyDigest: Data) -> AWSCanonicalRequest {
        AWSCanonicalRequest(
            request,
            query: AWSCanonicalRequest.canonicalQuery(AWSCanonicalRequest.encodedItems(of: request.target.query)),
            payloadHash: payloadHash(bodyDigest), isS3: isS3
        ) { !Self.unsignedNames.contains($0) }
    }

    func signed(_ request: PreparedRequest, bodyDigest: Data) throws -> PreparedRequest {
        var signature = self
        signature.payload = payload(of: request)
        return try signature.signedAsConfigured(request, bodyDigest: bodyDigest)
    }

    /// Returns how the body of `request` is signed.
    ///
    /// A request without a body is not sent in chunks, which would make it an upload.
    func payload(of request: PreparedRequest) -> Payload {
        if case .chunks = payload, case .none = request.body { return .signed }
        return payload
    }

    private func signedAsConfigured(_ request: PreparedRequest, bodyDigest: Data) throws -> PreparedRequest {
        try validate()
        var request = withCanonicalPath(request)
        let scope = try AWSScope(self)
        request.header.remove(.authorization)
        request.header["X-Amz-Date"] = scope.timestamp
        if let token = credentials.sessionToken { request.header["X-Amz-Security-Token"] = token }
        var length: Int?
        if case .chunks(let size) = payload { length = try prepareChunks(of: &request, size: Self.chunkSize(size)) }
        if isS3 || payload != .signed { request.header["X-Amz-Content-SHA256"] = payloadHash(bodyDigest) }
        let canonical = canonicalRequest(of: request, bodyDigest: bodyDigest)
        let signature = try scope.signature(of: canonical)
        request.header[.authorization] =
            "\(Self.algorithm) Credential=\(credentials.accessKeyID)/\(scope.text), "
            + "SignedHeaders=\(canonical.signedNames), Signature=\(signature)"
        if case .chunks(let size) = payload, let length {
            let chunks = AWSChunks(scope, seed: signature, size: Self.chunkSize(size))
            request.body = chunks.encoding(request.body, ofLength: length)
        }
        return request
    }

    /// Returns `request` with the path that is signed, in the form that S3 computes from any encoding.
    ///
    /// Servers decode the path and encode it again; a test server that compares it as sent would accept any encoding.
    private func withCanonicalPath(_ request: PreparedRequest) -> PreparedRequest {
        guard isS3 else { return request }
        let path = AWSCanonicalRequest.objectPath(request.target.path)
        if path.hasSameBytes(as: request.target.path) { return request }
        var request = request
        request.target = request.target.replacing(
            path: path, query: request.target.query, fragment: request.target.fragment)
        return request
    }

    private static func chunkSize(_ size: Int) -> Int { max(8 << 10, size) }

    /// Sets the fields of a body that is signed in chunks, and returns its length.
    private func prepareChunks(of request: inout PreparedRequest, size: Int) throws -> Int {
        guard let length = try request.body.measuredLength(), request.trailers == nil else {
            throw CredentialError.invalidSigningValue("a body without a known length, or with trailers")
        }
        let coding = request.header[.contentEncoding].map { "aws-chunked,\($0)" } ?? "aws-chunked"
        request.header[.contentEncoding] = coding
        request.header["X-Amz-Decoded-Content-Length"] = "\(length)"
        return length
    }

    private func payloadHash(_ digest: Data) -> String {
        switch payload {
        case .signed: HexadecimalText.of(digest)
        case .unsigned: "UNSIGNED-PAYLOAD"
        case .chunks: "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
        }
    }
}

// MARK: Presigned URLs

extension AWSSignature {
    /// Returns a URL that performs `request` without further credentials until it expires.
    ///
    /// Host and the request's fields whose names begin with `x-amz-` are signed; a client that uses the URL must send
    /// the same fields. For S3 the body is not protected. The query items of the request are kept.
    ///
    /// - Parameters:
    ///   - request: The request, whose body must be in memory.
    ///   - duration: The time until the URL expires, from 1 s to 7 days; fractions of a second are dropped.
    /// - Returns: The URL, which is a secret as long as it is valid.
    /// - Throws: `RequestError` with `credentialsUnavailable` and ``CredentialError`` for an invalid value, or if the
    ///   system has no library for hashes.
    public func presignedURL(for request: PreparedRequest, expiresIn duration: Duration) throws(RequestError) -> URL {
        do {
            return try presigned(request, seconds: duration.components.seconds).url
        } catch {
            throw RequestError.wrapped(error, as: .credentialsUnavailable).beforeSending().adding(request: request)
        }
    }

    package func presigned(_ request: PreparedRequest, seconds: Int64) throws -> TargetURI {
        try validate()
        guard 1...604_800 ~= seconds else { throw CredentialError.invalidSigningValue("an expiry of \(seconds) s") }
        let request = withCanonicalPath(request)
        // A client that opens the URL removes dot segments, and requests another object.
        guard !isS3 || !PercentEncoding.hasDotSegment(request.target.path) else {
            throw CredentialError.invalidSigningValue("a path with a segment “.” or “..” in a presigned URL")
        }
        let scope = try AWSScope(self)
        let isSigned: (String) -> Bool = { $0.hasBytePrefix("x-amz-") }
        let names = AWSCanonicalRequest(
            request, query: "", payloadHash: "", isS3: isS3, signing: isSigned
        ).signedNames
        let encode: (String) -> String = { PercentEncoding.rfc3986.encode($0) }
        var items = AWSCanonicalRequest.encodedItems(of: request.target.query)
        items += [
            ("X-Amz-Algorithm", Self.algorithm),
            ("X-Amz-Credential", encode("\(credentials.accessKeyID)/\(scope.text)")),
            ("X-Amz-Date", scope.timestamp), ("X-Amz-Expires", "\(seconds)"), ("X-Amz-SignedHeaders", encode(names)),
        ]
        if let token = credentials.sessionToken { items.append(("X-Amz-Security-Token", encode(token))) }
        let canonical = AWSCanonicalRequest(
            request, query: AWSCanonicalRequest.canonicalQuery(items), payloadHash: try presignedHash(of: request.body),
            isS3: isS3, signing: isSigned)
        items.append(("X-Amz-Signature", try scope.signature(of: canonical)))
        let query = items.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        return try TargetURI("\(request.target.origin)\(request.target.path)?\(query)")
    }

    private func presignedHash(of body: RequestBody) throws -> String {
        if isS3 || payload != .signed { return "UNSIGNED-PAYLOAD" }
        switch body {
        case .none: return HexadecimalText.of(try hashes.digest(of: Data(), with: .sha256))
        case .bytes(let data): return HexadecimalText.of(try hashes.digest(of: data, with: .sha256))
        default: throw CredentialError.invalidSigningValue("a body that is not in memory")
        }
    }
}
