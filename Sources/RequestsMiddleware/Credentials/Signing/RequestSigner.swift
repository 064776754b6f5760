package import RequestsPOSIX

/// A signature of requests: a function from a request, and the SHA-256 of its body, to the signed request.
///
/// ```swift
/// let signer = RequestSigner { request, bodyDigest in
///     let text = "\(request.method) \(request.target.requestTarget) "
///         + bodyDigest.base64EncodedString()
///     let code = try RequestSigner.hmacSHA256(of: Data(text.utf8), key: key)
///     var request = request
///     request.header["X-Signature"] = code.base64EncodedString()
///     return request
/// }
/// ```
public struct RequestSigner: Sendable {
    /// A function that returns the signed request.
    ///
    /// Its parameters are the request and the SHA-256 of its body, 32 bytes; for a request without a body, it is the
    /// hash of no bytes. Errors that are not a `RequestError` become the underlying error of `credentialsUnavailable`.
    public typealias Function = @Sendable (_ request: PreparedRequest, _ bodyDigest: Data) throws -> PreparedRequest

    private let sign: Function
    private let needsDigest: @Sendable (PreparedRequest) -> Bool
    private let hashes: any HashProvider
    /// A function that waits until there are credentials for a request.
    private let wait: Wait?

    typealias Wait = @Sendable (PreparedRequest) async throws(RequestError) -> Void

    /// Creates a signer from a function.
    ///
    /// A body that is a file or a stream is read once to compute its digest before it is sent. One that can be sent
    /// only once fails with `bodyNotReplayable`.
    public init(_ sign: @escaping Function) {
        self.init(hashes: SystemHashes.shared, sign)
    }

    package init(hashes: any HashProvider, _ sign: @escaping Function) {
        self.init(hashes: hashes, needsDigest: { _ in true }, sign)
    }

    /// Creates a signer whose function receives an empty digest for requests that need none.
    init(
        hashes: any HashProvider, needsDigest: @escaping @Sendable (PreparedRequest) -> Bool,
        wait: Wait? = nil, _ sign: @escaping Function
    ) {
        self.wait = wait
        self.sign = sign
        self.needsDigest = needsDigest
        self.hashes = hashes
    }

    /// Returns the HMAC with SHA-256 of `data`, 32 bytes, for the function of a signer (RFC 2104).
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable` if the system has no library for hashes.
    public static func hmacSHA256(of data: Data, key: Data) throws(RequestError) -> Data {
        do throws(HashError) {
            return Data(try SystemHashes.shared.authenticationCode(of: data, key: key, with: .sha256))
        } catch {
            throw RequestError(error)
        }
    }

    /// Returns a signer that sets a field to the HMAC with SHA-256 of a message.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - field: The name of the field.
    ///   - value: A function that returns the value of the field for the code of 32 bytes; base64 by default.
    ///   - message: A function that returns the bytes to authenticate, from the request and the SHA-256 of its body.
    /// - Returns: The signer.
    public static func hmacSHA256(
        key: Data, field: Field.Name, value: @escaping @Sendable (Data) -> String = { $0.base64EncodedString() },
        message: @escaping @Sendable (_ request: PreparedRequest, _ bodyDigest: Data) throws -> Data
    ) -> RequestSigner {
        RequestSigner { request, digest in
            var request = request
            let code = try hmacSHA256(of: message(request, digest), key: key)
            request.header.set(Field(name: field, value: value(code)))
            return request
        }
    }
}

extension RequestSigner {
    /// Returns the signed request after reading its body and waiting for credentials.
    func signed(_ request: PreparedRequest) async throws(RequestError) -> PreparedRequest {
        let digest: [UInt8]
        do throws(RequestError) {
            // The body first: reading it takes longer, and the credentials could expire meanwhile.
            digest = needsDigest(request) ? try await request.bodyDigest(with: .sha256, hashes) : []
            try await wait?(request)
        } catch {
            throw error.adding(request: request)
        }
        return try signed(request, digest: digest)
    }

    private func signed(_ request: PreparedRequest, digest: [UInt8]) throws(RequestError) -> PreparedRequest {
        do {
            return try sign(request, Data(digest))
        } catch {
            throw RequestError.wrapped(error, as: .credentialsUnavailable).beforeSending().adding(request: request)
        }
    }
}

extension RequestSigner: CustomReflectable {
    /// The mirror that `dump` prints, without the key.
    public var customMirror: Mirror { Mirror(self, children: ["kind": "signer"]) }
}
