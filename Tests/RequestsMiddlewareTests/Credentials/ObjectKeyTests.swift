@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import TestSupport
import Testing

/// Keys of S3 with the path and the signature that botocore 1.x computes for them.
@Suite("Signed keys of S3", .timeLimit(.minutes(10)))
struct ObjectKeyTests {
    /// A key, its path below the bucket, and the signature of a GET at 2026-11-22 08:30:00.
    static let keys: [(key: String, path: String, signature: String)] = [
        ("a", "a", "6232e432c9c38ddf9e2685bf0527f512740dfd5fa516e64809c8f889281111da"),
        ("a/b", "a/b", "04066e29703961336334994082c3d184d26393538814a784ef601a10c235a338"),
        ("a/b/c.txt", "a/b/c.txt", "861edc23437ce56bbeb1c750bb91e4566266f66f46744fa6a0feef8c10546328"),
        ("a b", "a%20b", "8ddb27c7b08ed0c0f2b713a36fe6187292d79baf03f2bfa9030f93ebe02debe9"),
        ("a+b", "a%2Bb", "7d11ef150ada20a1ad830f6ea76c19b1225f674c67dc8f48bc51b551234ee789"),
        ("(x)", "%28x%29", "b49713cc5f05551474ae3defaaf8fe67113c51853a55402016f49254b1de81bc"),
        ("!", "%21", "bd60c6b98c6dc44729695657864486dce07aa090b205b8d30251e206ea33594b"),
        ("'", "%27", "2d580451d46ae1c64acf9c957b5ed303c2165c7542316901b5d20fb9bb0ad43a"),
        ("*", "%2A", "2033b9c348118ac088344fdf0287c07781fa250dfde36ab0c3d91502081818fd"),
        (",", "%2C", "4cf6e287c73e9a6abfc381b5d47c310b5cd08a998d4e9f61bc34510f4353fa18"),
        (":", "%3A", "eee5216e7fcb023e45d45adc9957043ecc0d50f3940480fe21249591fd08b124"),
        (";", "%3B", "283512156f01a1198ac1df915bce78cc514794d401416ed257860b775e4fde09"),
        ("=", "%3D", "c982f6daa3b86bd3b6707e9dd51048293c4915a1e8c00bbbb8372e0f4f59f373"),
        ("@", "%40", "571ef727e9a43553f98c5e45787797b6ec23bc3db56d7d69ed5c5576082823d1"),
        ("&", "%26", "5d1f3a862056fec465be03403ccff8d70cad27745af0dcc179421583f77add93"),
        ("$", "%24", "7f27721edbc91d653fc964614bd97c493427ad97c797f10c4412e3bc5683e498"),
        ("?", "%3F", "abb0dff1e73170d12c2f498a361442a7369a4aa2f6944ed0e09c8dfeecc2a59c"),
        ("#", "%23", "c95792f0e2e2ba8b74c54ac6fa282d3ae44eb5cfeaadaa20aacef566f0ff8230"),
        ("%", "%25", "94d01067a2bfaf90fe0b39ff6ddea99b07d525eec350d29838bf3a33479965d0"),
        ("%41", "%2541", "80d6b154d480efe3cc8a55808e67976eb0556612cf1ab9fbf5f1e095029b1302"),
        ("%2F", "%252F", "db8400c0b852b71b91c9a6aa00990f2f5ffb365fe057d765673210c79ea84920"),
        ("a%2Fb", "a%252Fb", "4a7516631822a423d17cafd571603d4d4d608401e110898bf66a8d1a015340ee"),
        ("%252e", "%25252e", "6c7e9ae0682b65180ac88eb50670e0deb3d4b1740bffd7e3b5a3f1e309e81355"),
        ("~", "~", "97823494a27a3bda3ae0c17f886bf5726ebbec8953e199e29766a62cde7ddfa0"),
        ("-._~", "-._~", "bc0139c9734a462547395f07ca7a5f56819ed7db10a2e10a5c1aaedaa158a718"),
        ("\u{e9}", "%C3%A9", "56c543526d36faae3c3088bdd505f84bd4e88e52f53f163a4c078f140bd4a44a"),
        ("e\u{301}", "e%CC%81", "09ca396494409ceae1c125d282baf427cc9f68bf22e712f1c2b35eaf7ef21e6c"),
        (
            "\u{65e5}\u{672c}/\u{8a9e}", "%E6%97%A5%E6%9C%AC/%E8%AA%9E",
            "89c8e7f4188a91f2a6c7e08811fe5b817ab79393f9dc30d1254b46518d433d4c"
        ),
        ("\u{1f600}.png", "%F0%9F%98%80.png", "a8242967b1953fd4d299cec6bfd61526b4477bc51c54aa78dd338782dd76c564"),
        (
            "\u{22}<>\u{5c}^`{|}[]", "%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5D",
            "304fbe15c5f2b3962580a5454d73db9d28e1419c0506543747c44a1dc2519ee5"
        ),
        ("a\u{9}b", "a%09b", "e8f39c85b5168860af52a9a28827e4ed2c0b5a8d45b2d709f90c5cbed14e55ab"),
        (
            "+ ( ) ! ' * , : ; = @ & $", "%2B%20%28%20%29%20%21%20%27%20%2A%20%2C%20%3A%20%3B%20%3D%20%40%20%26%20%24",
            "b3179174330d5138bda20a3f282c4cc63d90a0ba64ba0e87b0e9b9dcfd407782"
        ),
        ("/lead", "/lead", "1e0cdab596fe67a3d8f8caa5130283bbaf17342e0034dd6fb6ed15adaa007a56"),
        ("trail/", "trail/", "40781cb5533f6f0046e04d645e562351ae6f6e95ee961625a3f81ec2b6c3022e"),
        ("a//b", "a//b", "53adb0f76968c500599e392f134c3bed1d5655c7854282c391dff9a280c5a84b"),
        (".hidden", ".hidden", "efae1a6c8fdf6b131a5dff118e548d10e55696f2815a6dbf67114f44c62f0a62"),
        ("a..b", "a..b", "27ed2890bcad05f8d8e2cf74e333acac780379d03ae75ad9874e547157becd49"),
        ("...", "...", "0ac12a9cbd16b3e3547ed2d00718335ccb00c8edf00685db2faba9c63f4eeb6f"),
        ("x/.../y", "x/.../y", "18b48bed8351a97322237d9df647894ee05dedd7afdc51098e05f8d0e874014d"),
        ("100%/50%", "100%25/50%25", "4ea4072b4efb7dadc808dc0c2c9fb22f795259a7fd3e00c086b680b241891dcd"),
        ("q=1&r=2/#3", "q%3D1%26r%3D2/%233", "ee56d960e146b6668627f3d4f046177d3caca78fa293edbc0e727131acd27de7"),
        ("tab\u{7f}", "tab%7F", "d380d78781d708d656e64641ee47505a7125273262e65261a443f9f573610efd"),
        ("A-Za-z0-9/-_.~", "A-Za-z0-9/-_.~", "c88c12fc0b4f44d49e9727e18805e6dcd42a3e28290b3a9c1c4947ea7152e6cf"),
        (
            "photos/2026/\u{c4}rger & Spa\u{df} (1).jpg", "photos/2026/%C3%84rger%20%26%20Spa%C3%9F%20%281%29.jpg",
            "cf0ecf25f8d98053a882ad875aa92daee325713c8ec5fd743906211639fe701d"
        ),
        ("%E2%82%AC", "%25E2%2582%25AC", "4c63db28a59c5bdc1be9dde2b27a221fc28502daccb2c04e19594c51829ad3d8"),
        ("a;b=c,d", "a%3Bb%3Dc%2Cd", "0626e04c34b06cb030f195d6c4b06da0e91fff1c066dad67be5f7794f5a798c4"),
        ("a/../b", "a/../b", "40c074bcd2d12d696cd8a425c1317028fe5144e257973d0d317ff5d84b7da139"),
        ("./x", "./x", "b7defc56adfec40a9dd604deccb2e8599c94b10fc931332127d0fa95d802439b"),
        ("a/..", "a/..", "8c3d7a657395e0c382ec2a35b905fb50f32f7be80f9812ae38a04f87c6f9ab02"),
    ]

    private static func signature(_ service: String = "s3") -> AWSSignature {
        var signature = AWSSignature(
            credentials: .init(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            region: "us-east-1", service: service)
        signature.now = { Date(timeIntervalSince1970: 1_795_336_200) }
        return signature
    }

    private func sent(
        _ path: RequestPath, base: String = "http://s3.test", _ service: String = "s3"
    ) async throws -> PreparedRequest {
        let served = scripted([200])
        let environment = try #require(RequestEnvironment(string: base))
        let client = Client(
            AnonymousRequestProvider("http://s3.test"),
            executor: served.signing(with: .aws(Self.signature(service)), within: environment))
        try await client.perform { $0.get(.none, from: path) }
        return try #require(served.recordedRequests.first)
    }

    @Test("the sent path and its signature match botocore, however the key is written", arguments: keys)
    func table(key: String, path: String, signature: String) async throws {
        var paths: [RequestPath] = ["/bucket/\(key)", RequestPath("/bucket/" + path)]
        // As text that is trusted: only bytes that a path cannot have are encoded.
        if !key.contains(where: { "%?#\t\u{7F}".contains($0) }) { paths.append(RequestPath("/bucket/" + key)) }
        let segments = key.split(separator: "/", omittingEmptySubsequences: false)
        if !segments.contains(where: { ["", ".", ".."].contains($0) }) { paths.append("/bucket/\(segments: key)") }
        for written in paths {
            let request = try await sent(written)
            #expect(request.target.requestTarget == "/bucket/" + path, "\(written)")
            let value = request.header[.authorization] ?? ""
            #expect(value.hasSuffix("Signature=\(signature)"), "\(written)")
        }
    }

    @Test("the query of a request to S3 stays as it was written, and a presigned URL has the canonical path")
    func presigned() async throws {
        let request = try await sent("/bucket/\("a/b+c")")
        #expect(request.target.path == "/bucket/a/b%2Bc")
        let target = try TargetURI("http://s3.test/bucket/a%2Fb+c(1)?x=1")
        let url = try Self.signature().presignedURL(for: PreparedRequest(target: target), expiresIn: .seconds(60))
        #expect(url.absoluteString.hasPrefix("http://s3.test/bucket/a/b%2Bc%281%29?x=1&X-Amz-Algorithm="))
        let written = try TargetURI("http://s3.test/bucket/a/b%2Bc%281%29?x=1")
        #expect(
            try Self.signature().presignedURL(for: PreparedRequest(target: written), expiresIn: .seconds(60)) == url)
        let dots = try TargetURI("http://s3.test/bucket/a%2F..%2Fb")
        let error = #expect(throws: RequestError.self) {
            try Self.signature().presignedURL(for: PreparedRequest(target: dots), expiresIn: .seconds(60))
        }
        #expect(error?.reason == .credentialsUnavailable)
    }

    @Test("the path of another service is sent as it was written")
    func otherServices() async throws {
        let request = try await sent("/a%2Fb/(c)/\("d e")", "execute-api")
        #expect(request.target.path == "/a%2Fb/(c)/d%20e" && request.header[.authorization] != nil)
    }

    @Test(
        "a path with a dot segment is signed at the root of a server, and is an error below another base URL",
        .rows("PM-6"),
        arguments: ["/v1/../x", "/v1/a/%2e%2E/x", "/v1/a%2F..%2Fx", "/v1/..;a/x", "/v1/.", "/v1/..%5Cx"],
        ["s3", "execute-api"])
    func dotSegments(text: String, service: String) async throws {
        let path = RequestPath(text)
        let request = try await sent(path, service)
        #expect(request.header[.authorization] != nil)
        let error = await failure { () async throws(RequestError) in
            do {
                _ = try await sent(path, base: "http://s3.test/v1", service)
            } catch {
                throw (error as? RequestError) ?? RequestError(.other)
            }
        }
        #expect(error?.reason == .credentialsUnavailable && error?.mayHaveReachedServer == false)
        guard case .ambiguousPath = error?.underlying as? CredentialError else {
            Issue.record("\(String(describing: error))")
            return
        }
        // Not below the base URL, so it is sent without a signature.
        #expect(try await sent(path, base: "http://s3.test/v2", service).header[.authorization] == nil)
    }

    @Test("a path that is encoded twice has no dot segment, and receives signatures and credentials", .rows("PM-6"))
    func encodedTwice() async throws {
        for path in ["/v1/%252e%252e/admin", "/v1/\("%2e%2e")/admin"] as [RequestPath] {
            let request = try await sent(path, base: "http://s3.test/v1", "execute-api")
            #expect(request.header[.authorization] != nil && request.target.path == "/v1/%252e%252e/admin")
            let served = scripted([200])
            let client = Client(AnonymousRequestProvider("http://s3.test"), executor: served).authenticating(
                with: NumberedTokens())
            try await client.perform { $0.get(.none, from: path) }
            #expect(served.sentAuthorizations == ["Bearer planted-1"])
        }
    }
}
