import Requests
import TestSupport
import Testing

/// Every secret in every place, and public text, in every text that this module prints.
@Suite("Planted secrets")
struct PlantedSecretTests {
    private struct PassingMiddleware: Middleware {
        let token = PlantedSecrets.secret

        func intercept(
            _ request: PreparedRequest, next: any RequestExecutor
        ) async throws(RequestError) -> RawResponse { try await next.execute(request) }
    }

    private struct Talkative: Error, CustomStringConvertible {
        let description: String
    }

    private func error(_ planted: PlantedSecrets, _ cause: (any Error)? = nil) -> RequestError {
        RequestError(
            cause == nil ? .unacceptableStatus : .decodingFailed, underlying: cause, request: planted.request,
            response: planted.response, body: planted.body)
    }

    /// The texts of `planted`, by name.
    private func outputs(of planted: PlantedSecrets) -> [(name: String, text: String)] {
        struct Item: Decodable { let id: String }
        var outputs: [(String, String)] = []
        func add<Value>(_ name: String, _ value: Value) {
            outputs += everyText(of: value).map { (name, $0) }
            outputs += everyText(of: [value]).map { ("an array with \(name)", $0) }
        }
        let error = error(planted)
        add("the request", planted.request)
        add("the error", error)
        add("the result", Result<Int, RequestError>.failure(error))
        do {
            _ = try JSONDecoder().decode(Item.self, from: planted.body)
        } catch let cause {
            add("the error of a decoder", self.error(planted, cause))
        }
        add(
            "an error with a talkative cause",
            self.error(planted, Talkative(description: "at \(PlantedSecrets.secret)")))
        outputs.append(("the wire text", planted.request.wireText))
        outputs.append(("the curl command", planted.request.curlCommand()))
        add("the header", planted.request.header)
        add("the target", planted.request.target)
        return outputs.filter { !($0.0.contains("talkative") && planted.description.contains("response")) }
    }

    @Test("no output of this module contains a planted secret", .rows("R-74"), arguments: PlantedSecrets.places)
    func hidden(planted: PlantedSecrets) {
        planted.expectHidden(in: outputs(of: planted))
        let (request, secret) = (planted.request, PlantedSecrets.secret)
        if !planted.description.contains("response"), !"\(planted)".contains("userinfo"),
            !"\(planted)".contains("Basic")
        {
            #expect(request.curlCommand(secrets: .revealed).contains(secret))
        }
    }

    @Test("a response's head shows no secret of its own", .rows("R-74"), arguments: PlantedSecrets.places)
    func heads(planted: PlantedSecrets) {
        guard !planted.description.contains("repeats") else { return }
        for text in everyText(of: planted.response) {
            #expect(!text.contains(PlantedSecrets.secret), "\(planted): \(text)")
        }
        for challenge in planted.response.header.values(of: .wwwAuthenticate).flatMap(
            AuthenticationChallenge.challenges)
        {
            for text in everyText(of: challenge) { #expect(!text.contains(PlantedSecrets.secret), "\(text)") }
        }
    }

    @Test("the description of a challenge contains no values that the server chose", .rows("R-74"))
    func challenges() throws {
        let text = "Digest realm=\"a\u{202E} hunter2\", nonce=hunter2, Negotiate aHVudGVyMg=="
        let challenges = AuthenticationChallenge.challenges(in: text)
        #expect(challenges.map { "\($0)" } == ["Digest (realm, nonce)", "Negotiate (token68)"])
        for challenge in challenges {
            for text in everyText(of: challenge) {
                #expect(!text.contains("hunter2") && !text.contains("aHVu") && !text.contains("\u{202E}"), "\(text)")
            }
        }
    }

    @Test("no output hides public text", .rows("R-74"), arguments: PlantedSecrets.publicTexts)
    func shown(planted: PlantedSecrets) {
        let url = "http://127.0.0.1:8180/accept/realm?\(PlantedSecrets.publicQuery)"
        #expect("\(planted.request)" == "POST \(url)")
        #expect("\(error(planted))".hasPrefix("POST \(url): 404 Not Found: unacceptable status: code "))
        #expect(planted.request.curlCommand().contains(url))
        for (name, text) in outputs(of: planted) where name != "the header" && !name.contains("with the header") {
            for word in PlantedSecrets.publicWords.dropLast() {
                #expect(text.contains(word), "\(planted) in \(name): \(text)")
            }
        }
        let body = String(decoding: planted.body, as: UTF8.self)
        #expect(planted.request.wireText.hasSuffix("\n\n\(body)"), "\(planted.request.wireText)")
        // The excerpt is on one line.
        let start = RequestError.singleLine(String(body.prefix(200)))
        #expect(error(planted).debugDescription.contains(start), "\(error(planted).debugDescription)")
    }

    @Test("secrets in the URLs of fields are redacted, and nothing else is", .rows("R-74"))
    func urls() {
        for (name, value, shown) in [
            (.location, "https://e.com/@vera/post?page=2", "https://e.com/@vera/post?page=2"),
            (.location, "https://u:p@e.com/a?Signature=x&b#c", "https://<redacted>@e.com/a?Signature=<redacted>&b#c"),
            (.location, "//u:a/hunter2@h:x/", "//<redacted>@h:x/"),
            (
                .link, "<https://e.com/?token=x>; rel=\"next\", </b?sig=y&p=1>; rel=prev",
                "<https://e.com/?token=<redacted>>; rel=\"next\", </b?sig=<redacted>&p=1>; rel=prev"
            ),
            ("Refresh", "5; url=/?jwt=x", "5; url=/?jwt=<redacted>"),
            ("X-Mail", "vera@e.com?token", "vera@e.com?token"),
        ] as [(Field.Name, String, String)] {
            #expect("\(Field(name: name, value: value))" == "\(name): \(shown)")
        }
    }

    @Test("a dump of a base URL, an environment or a client shows no userinfo and no internals", .rows("R-74"))
    func dumps() throws {
        let secret = PlantedSecrets.secret
        let url = try #require(URL(string: "https://vera:\(secret)@e.com/v1?token=\(secret)"))
        let api = AnonymousRequestProvider(baseURL: url)
        var environment = try #require(RequestEnvironment(baseURL: url))
        environment.header = [Field(name: "X-Api-Key", value: secret)]
        let executor = StubExecutor { request in .stub(200, "", to: request) }
        let client = Client(api, executor: executor.intercepted(by: PassingMiddleware()))
        for text in everyText(of: api) + everyText(of: environment) + everyText(of: client)
            + everyText(of: client.executor)
        {
            #expect(!text.contains(secret) && !text.contains("0x"), "\(text)")
        }
        #expect("\(api)" == "https://<redacted>@e.com/v1?token=<redacted>")
        let path = RequestPath.reference("https://vera:\(secret)@e.com/v1?token=\(secret)")
        for text in everyText(of: path) { #expect(!text.contains(secret), "\(text)") }
        #expect("\(path)" == "https://<redacted>@e.com/v1?token=<redacted>")
        let chain = "StubExecutor with PassingMiddleware"
        let base = "https://<redacted>@e.com/v1?token=<redacted>"
        #expect("\(client)" == "Client<AnonymousRequestProvider> for \(base): \(chain)")
        #expect("\(Client(api, executor: executor))" == "Client<AnonymousRequestProvider> for \(base): StubExecutor")
    }
}
