import RequestsMock
import RequestsXML

enum BodiesAndParametersArticle {
    struct User: Codable, Sendable {
        let name: String
    }

    typealias API = AnonymousRequestProvider

    static func query(_ api: API, _ text: String) -> Request<API, [Int]> {
        api.get(.json(), from: "/search")
            .with(query: ["q": text, "page": 2, "exact": nil])
    }

    static func droppingNil(_ api: API, _ text: String, _ page: Int?) -> Request<API, [Int]> {
        api.get(.json(), from: "/search")
            .with(query: ["q": text, "page": page], nulls: .dropped)
    }

    static func parameters(_ api: API) -> Request<API, Void> {
        api.post(.none, to: "/users")
            .adding(parameters: ["name": "Ada", "tags": ["a", "b"]], in: .json)
            .adding(parameters: ["notify": true], in: .query)
    }

    @RequestList
    static func bodies(
        _ api: API, _ user: User, _ changes: User, _ settings: User, _ events: [User], scope: String, url: URL,
        gzip: @escaping @Sendable (Data) throws -> Data
    ) -> [Result<PreparedRequest, RequestError>] {
        api.post(.form(["grant_type": "password", "scope": scope]), to: "/token")
        api.post(.form(parameters: ["tags": ["a", "b"]]), to: "/search")
        api.post(.json(user), to: "/users")
        api.post(.json(["id": 1, "name": "x", "tags": ["a", "b"]]), to: "/users")
        api.patch(.json(changes, as: "application/merge-patch+json"), to: "/users/1")
        api.post(.propertyList(settings), to: "/settings")
        api.post(.text("grüß dich", in: .latin1), to: "/notes")
        api.put(.file(at: url), to: "/photo")
        api.post(.json(events).compressed(as: "gzip", gzip), to: "/events")
    }

    @RequestList
    static func report(_ api: API, includesData: Bool) -> [Result<PreparedRequest, RequestError>] {
        let calDAV = "urn:ietf:params:xml:ns:caldav"
        let query = XMLValue("propfind", namespace: "DAV:") {
            XMLValue("prop") {
                XMLValue("getetag")
                if includesData { XMLValue("c:calendar-data", namespace: calDAV) }
            }
        }
        api.request(to: "/calendars/ada", using: "PROPFIND")
            .sending(.xml(query)).receiving(.xml)
    }

    static func form(
        _ api: API, _ photo: URL, _ render: @escaping @Sendable () async throws -> Data
    ) -> Request<API, Void> {
        api.post(
            .multipart([
                .text("Hello", name: "message"),
                .file(at: photo, name: "photo"),
                .deferred {
                    let image = try await render()
                    return [.data(image, name: "thumbnail", contentType: .png)]
                },
            ]),
            to: "/posts")
    }
}
