import RequestsMiddleware
import RequestsSocket

/// The code of the article on signing requests, which `MiddlewareArticleTests` runs; `ReadmeSnippetTests` checks that
/// it has each snippet, line for line.
enum SigningRequestsArticle {
    actor Role {
        private(set) var count = 0

        func credentials() async throws -> AWSSignature.Credentials {
            count += 1
            return AWSSignature.Credentials(accessKeyID: "id", secretAccessKey: "planted-secret")
        }
    }

    static func chain(_ key: Data, _ environment: RequestEnvironment) -> some RequestExecutor {
        let signer = RequestSigner.hmacSHA256(
            key: key, field: "X-Signature"
        ) { request, bodyDigest in
            Data("\(request.method) \(request.target.requestTarget)\n".utf8)
                + bodyDigest
        }
        let executor = SocketExecutor()
            .signing(with: signer, within: environment)
            .decodingContent()
        return executor
    }

    static func client<API: RequestProviding>(
        _ api: API, _ signer: RequestSigner, _ token: String
    ) -> Client<API> {
        let client = Client(api, executor: SocketExecutor())
            .signing(with: signer)
            .authenticating(with: .bearerToken(token))
        return client
    }

    static func aws(
        _ id: String, _ secret: String, _ bucket: RequestEnvironment
    ) -> some RequestExecutor {
        let signature = AWSSignature(
            credentials: .init(accessKeyID: id, secretAccessKey: secret),
            region: "eu-central-1", service: "s3")
        let executor = SocketExecutor()
            .signing(with: .aws(signature), within: bucket)
        return executor
    }

    static func temporary(_ signature: AWSSignature, _ role: Role) -> RequestSigner {
        let signer = RequestSigner.aws(signature) {
            try await role.credentials()
        }
        return signer
    }

    static func presigned(_ signature: AWSSignature, _ request: PreparedRequest) throws -> URL {
        let url = try signature.presignedURL(
            for: request, expiresIn: .seconds(3_600))
        return url
    }
}
