import RequestsMock

enum ReadingResponsesArticle {
    struct Manifest: Decodable, Sendable {
        let schemaVersion: Int
    }

    struct Page: Decodable, Sendable {
        let number: Int
    }

    struct User: Codable, Sendable {
        let login: String
    }

    struct Repo: Decodable, Sendable {
        let id: Int
    }

    struct GitHubProblem: Decodable, Sendable {
        let message: String
    }

    typealias API = AnonymousRequestProvider

    static func mediaTypes(
        _ api: API, _ query: JSONValue
    ) -> (manifest: Request<API, Manifest>, page: Request<API, Page>) {
        let oci: MediaType = "application/vnd.oci.image.manifest.v1+json"
        let manifest = api.get(
            .json(Manifest.self).accepting([oci]), from: "/app/manifests/1")

        let amz: MediaType = "application/x-amz-json-1.0"
        let page = api.post(
            .json(query, as: amz), to: "/",
            receiving: .json(Page.self).accepting([amz]))
        return (manifest, page)
    }

    static func mapped(_ api: API) -> Request<API, Int> {
        api.get(.json([Int].self).map { $0.reduce(0, +) }, from: "/numbers")
    }

    static func events(_ client: Client<API>, _ api: API) async throws {
        let events = try await client.perform(api.get(.events, from: "/feed"))
        for try await event in events {
            print(event.type, event.data)
        }
    }

    static func completion(_ client: Client<API>, of prompt: JSONValue) async throws {
        let events = try await client.perform {
            $0.post(
                .json(prompt), to: "/chat/completions",
                receiving: .events(JSONValue.self, until: "[DONE]"))
        }
        for try await event in events {
            let text = event.value["choices", 0, "delta", "content"]?.string
            print(text ?? "", terminator: "")
        }
    }

    static func feed(_ client: Client<API>, _ api: API) async throws {
        let feed = api.get(.events, from: "/feed")
        for try await event in client.reconnectingEvents(for: feed) {
            print(event.data)
        }
    }

    static func pages(_ client: Client<API>) async throws {
        for try await repo in client.pages(of: .repos, by: .linkHeader).items {
            print(repo.id)
        }
    }

    static func problem(_ client: Client<API>, _ api: API) async {
        let request = api.get(.json(User.self), from: "/user")
            .decodingErrorPayload(as: GitHubProblem.self)
        do throws(RequestError) {
            let user = try await client.perform(request)
            print(user)
        } catch {
            if let problem = error.payload(as: GitHubProblem.self) {
                print(problem)
            }
        }
    }
}

extension Call<AnonymousRequestProvider, [ReadingResponsesArticle.Repo]> {
    fileprivate static var repos: Self { Call { $0.get(.json(), from: "/repos") } }
}
