package import RequestsPOSIX

/// AWS Signature Version 4: the settings for signing requests and URLs.
///
/// ```swift
/// let signature = AWSSignature(
///     credentials: .init(accessKeyID: id, secretAccessKey: secret),
///     region: "eu-central-1", service: "s3")
/// let executor = SocketExecutor()
///     .signing(with: .aws(signature), within: environment)
/// ```
///
/// All fields of the request are signed except those that executors and proxies change, such as User-Agent. The path is
/// normalized and encoded twice, as most services require. For S3 it is sent and signed as servers compute it:
/// decoded, and encoded again except for letters, digits and `- . _ ~ /`. So a key has one form, however the path was
/// written, and `%2F` in it is a slash.
public struct AWSSignature: Sendable {
    /// The keys of an account or a role.
    public struct Credentials: Sendable {
        /// The public identifier of the key, such as `AKIDEXAMPLE`.
        public var accessKeyID: String
        /// The secret key, which is never sent.
        public var secretAccessKey: String
        /// The token of temporary credentials, or nil.
        public var sessionToken: String?
        /// The date at which temporary credentials expire; nil if it is unknown.
        ///
        /// Only ``/RequestsMiddleware/RequestSigner/aws(_:leeway:credentials:)`` uses it.
        public var expiration: Date?

        /// Creates credentials from their values.
        public init(
            accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil, expiration: Date? = nil
        ) {
            self.accessKeyID = accessKeyID
            self.secretAccessKey = secretAccessKey
            self.sessionToken = sessionToken
            self.expiration = expiration
        }
    }

    /// The protection of the body.
    @nonexhaustive
    public enum Payload: Hashable, Sendable {
        /// The hash of the body is part of the signature.
        ///
        /// A file or a replayable stream is read once more before it is sent.
        case signed
        /// The body is not protected (`UNSIGNED-PAYLOAD`); use it over https only.
        case unsigned
        /// Each chunk of the body is signed while it is sent (`STREAMING-AWS4-HMAC-SHA256-PAYLOAD`, S3 only).
        ///
        /// The body must have a known length. The size of a chunk in bytes is limited to 8 KiB to 1 GiB.
        case chunks(size: Int = 64 << 10)
    }

    /// The keys.
    public var credentials: Credentials
    /// The region, such as `eu-central-1`.
    public var region: String
    /// The service, such as `s3` or `dynamodb`.
    public var service: String
    /// The protection of the body.
    public var payload: Payload

    package var hashes: any HashProvider = SystemHashes.shared
    package var now: @Sendable () -> Date = { Date() }
    let keys = AWSKeyCache()

    /// Creates a signature.
    ///
    /// A key, region or service that is empty or has a control character, a space or a slash (except in the secret key)
    /// is an error of each request: `credentialsUnavailable` with ``CredentialError``.
    public init(credentials: Credentials, region: String, service: String, payload: Payload = .signed) {
        self.credentials = credentials
        self.region = region
        self.service = service
        self.payload = payload
    }

    /// Whether the service is S3, which decodes paths and encodes them again.
    var isS3: Bool {
        service.hasSameBytes(as: "s3") || service.hasBytePrefix("s3-") || service.hasSameBytes(as: "s3express")
    }

    /// Throws if a value cannot be part of a signature.
    func validate() throws(CredentialError) {
        let values = [
            ("accessKeyID", credentials.accessKeyID), ("region", region), ("service", service),
        ]
        for (name, value) in values {
            guard !value.isEmpty, !value.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F || $0 == 0x2F || $0 == 0x2C })
            else { throw .invalidSigningValue(name) }
        }
        guard !credentials.secretAccessKey.isEmpty else { throw .invalidSigningValue("secretAccessKey") }
        if let token = credentials.sessionToken,
            token.isEmpty || token.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F })
        {
            throw .invalidSigningValue("sessionToken")
        }
    }
}

extension AWSSignature: CustomReflectable {
    /// The mirror that `dump` prints: region and service, without the keys.
    public var customMirror: Mirror { Mirror(self, children: ["region": region, "service": service]) }
}

extension AWSSignature.Credentials: CustomStringConvertible, CustomReflectable {
    /// The kind of the credentials, without the keys.
    public var description: String { "AWS credentials" }

    /// The mirror that `dump` prints, without the keys.
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}

extension RequestSigner {
    /// Returns a signer with AWS Signature Version 4 in the header of requests.
    public static func aws(_ signature: AWSSignature) -> RequestSigner {
        RequestSigner(hashes: signature.hashes, needsDigest: { signature.payload(of: $0) == .signed }) {
            request, digest in
            try signature.signed(request, bodyDigest: digest)
        }
    }

    /// Returns a signer with AWS Signature Version 4 whose credentials are temporary, such as a role's.
    ///
    /// ```swift
    /// let signer = RequestSigner.aws(signature) { try await role.credentials() }
    /// ```
    ///
    /// The function is called when the first request is signed, and again `leeway` before the credentials expire. Its
    /// calls do not overlap, and requests wait for it only if there are no valid credentials. If it throws an error,
    /// the waiting requests fail with `credentialsUnavailable`, and nothing is sent. Requests that the function
    /// performs with this signer are not signed.
    ///
    /// - Parameters:
    ///   - signature: The signature, whose own credentials are not used.
    ///   - leeway: The time before the expiry; 5 minutes by default. It should be shorter than the lifetime of the
    ///     credentials.
    ///   - credentials: A function that returns credentials. Requests that it performs must have time limits.
    /// - Returns: The signer.
    public static func aws(
        _ signature: AWSSignature, leeway: Duration = .seconds(300),
        credentials: @escaping @Sendable () async throws -> AWSSignature.Credentials
    ) -> RequestSigner {
        let provider = RefreshableAuthenticator<AWSSignature.Credentials>(
            nil, expiration: { $0.expiration }, leeway: leeway, holdsDuringRefresh: false, now: signature.now,
            fields: { _ in .empty }
        ) { _ in try await credentials() }
        let wait: Wait = { request async throws(RequestError) in
            if provider.renewal.isRefreshingHere { return }
            _ = try await provider.credentials(for: request)
        }
        return RequestSigner(
            hashes: signature.hashes, needsDigest: { signature.payload(of: $0) == .signed }, wait: wait
        ) { request, digest in
            if provider.renewal.isRefreshingHere { return request }
            guard let credentials = provider.credential else { throw CredentialError.refreshRefused }
            var signature = signature
            signature.credentials = credentials
            return try signature.signed(request, bodyDigest: digest)
        }
    }
}
