import Foundation
import RequestsMiddleware
import RequestsSocket
import RequestsXML

// MARK: A container registry: JSON with a media type of its own

struct Registry: RequestProviding { let baseURL: URL }

struct Manifest: Codable, Sendable {
    var schemaVersion = 2
    let mediaType: String
    let layers: [String]
}

extension MediaType {
    static let manifest: MediaType = "application/vnd.oci.image.manifest.v1+json"
}

func pushManifest(to registry: Client<Registry>) async throws -> String {
    let manifest = Manifest(mediaType: "\(MediaType.manifest)", layers: ["sha256:a"])
    _ = try await registry.perform { $0.put(.json(manifest, as: .manifest), to: "/v2/app/manifests/1.0") }
    let pulled = try await registry.perform {
        $0.get(.json(Manifest.self).accepting([.manifest]), from: "/v2/app/manifests/1.0")
    }
    do throws(RequestError) {
        _ = try await registry.perform { $0.get(.json(Manifest.self), from: "/v2/app/manifests/2.0") }
        return "found"
    } catch {
        return "\(pulled.layers.count) layer; \(error.message?.text ?? "")"
    }
}

// MARK: A language model: a completion as it is generated

struct Model: RequestProviding { let baseURL: URL }

func complete(_ prompt: String, with model: Client<Model>) async throws -> String {
    let body: JSONValue = ["stream": true, "messages": [["role": "user", "content": .string(prompt)]]]
    var text = ""
    let events = try await model.perform {
        $0.post(.json(body), to: "/chat/completions", receiving: .events(JSONValue.self, until: "[DONE]"))
    }
    for try await event in events { text += event.value["choices", 0, "delta", "content"]?.string ?? "" }
    return text
}

// MARK: A calendar server: XML both ways, and a method of WebDAV

struct CalDAV: RequestProviding { let baseURL: URL }

func calendars(of server: Client<CalDAV>) async throws -> [String] {
    let body = XMLValue("propfind", namespace: "DAV:") { XMLValue("prop") { XMLValue("displayname") } }
    let found = try await server.perform {
        $0.request(to: "/calendars/ada", using: "PROPFIND").setting(headerField: Field(name: "Depth", value: "1"))
            .sending(.xml(body)).receiving(.xml)
    }
    return found.elements(named: "response").compactMap { $0["propstat", "prop", "displayname"]?.text }
}

// MARK: An object store: signed requests, keys with slashes, errors as XML

struct S3: RequestProviding { let baseURL: URL }

func store(_ data: Data, in store: Client<S3>) async throws -> String {
    let key = "2026/café.txt"
    let credentials = AWSSignature.Credentials(accessKeyID: "AKID", secretAccessKey: "secret")
    let signature = AWSSignature(credentials: credentials, region: "eu-central-1", service: "s3")
    let signed = store.signing(with: .aws(signature))
    _ = try await signed.perform { $0.put(.raw(data: data, contentType: "text/plain"), to: "/b/\(segments: key)") }
    do throws(RequestError) {
        _ = try await store.perform { $0.get(.data, from: "/b/\(segments: key)") }
        return "read without a signature"
    } catch {
        return "\(error.status?.code ?? 0) \(error.bodyXML?["Code"]?.text ?? "")"
    }
}

// MARK: Metrics: values in a query, and an error in the body

struct Prometheus: RequestProviding { let baseURL: URL }

func range(from server: Client<Prometheus>) async throws -> String {
    let start = Date(timeIntervalSince1970: 0)
    let value = try await server.perform {
        $0.get(.jsonValue, from: "/api/v1/query_range").with(query: ["query": "up{job=\"a\"}", "start": start])
    }
    return value["data", "result", 0, "value"]?.string ?? "none"
}

// MARK: A database: a content type and a target for each call

struct DynamoDB: RequestProviding { let baseURL: URL }

func item(from database: Client<DynamoDB>) async throws -> String {
    let key: JSONValue = ["TableName": "users", "Key": ["id": ["S": "7"]]]
    let type: MediaType = "application/x-amz-json-1.0"
    let found = try await database.perform {
        $0.post(.json(key, as: type), to: "/", receiving: .jsonValue.accepting([type]))
            .setting(headerField: Field(name: "X-Amz-Target", value: "DynamoDB_20120810.GetItem"))
    }
    return found["Item", "name", "S"]?.string ?? "none"
}

// MARK: A notebook server: a partial change

struct Jupyter: RequestProviding { let baseURL: URL }

func rename(with server: Client<Jupyter>) async throws -> String {
    try await server.perform {
        $0.patch(.json(["path": "new.ipynb", "version": 3]), to: "/api/contents/old.ipynb", receiving: .text)
    }
}

// MARK: A token for a client, renewed when it expires

func token(from url: URL, over executor: SocketExecutor) async throws -> String {
    let server = OAuthServer(tokenEndpoint: url.appending(path: "token"), client: .basic(id: "app", secret: "secret"))
    let tokens = Client(server, executor: executor)
    let authenticator = RefreshableAuthenticator(nil) { _ in try await tokens.perform { $0.clientCredentials() } }
    let client = Client(AnonymousRequestProvider(baseURL: url), executor: executor).authenticating(with: authenticator)
    return try await client.perform { $0.get(.text, from: "/account") }
}

// MARK: A service that is busy: the reason why a call was not repeated again

func busy(_ client: Client<Registry>) async -> String {
    let policy = RetryPolicy(maximumRetries: 1) { _ in .milliseconds(1) }
    let retrying = Client(client.api, executor: client.executor.retrying(policy))
    do throws(RequestError) {
        try await retrying.perform { $0.get(.none, from: "/busy") }
        return "idle"
    } catch {
        return "\(error.attempts) attempts, \(error.retryRefusal.map { "\($0)" } ?? "")"
    }
}
