// The code has the style of that README: explicit returns, no documentation.
// swift-format-ignore-file: OmitExplicitReturns, AllPublicDeclarationsHaveDocumentation

import RequestsURLSession

// The declarations of an app for Requests 0.3.2, as in the README of that version. The import differs, and the two
// static closures are `@Sendable`.

struct User: Codable, Equatable {
    var id = 1
}

enum ExampleAPI: RequestProviding {
    case development
    case production

    var baseURL: URL {
        switch self {
        case .development:
            return URL("https://dev.example.com/api")
        case .production:
            return URL("https://live.example.com/api")
        }
    }
}

struct ExternalAPI: RequestProviding {
    let baseURL: URL = URL("https://api.external.org")

    func request(to endpoint: String, using method: HTTPMethod) -> Request<ExternalAPI, Void> {
        return Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method)
            .adding(headerField: .applicationKey("DEAD-BEEF"))
    }
}

extension Field.Name {
    static let applicationKey = Field.Name("X-APPLICATION-KEY")
}

extension Field {
    static let applicationKey: @Sendable (String) -> Field = { Field(name: .applicationKey, value: $0) }
}

extension ResponseDecoder where Response == String {
    public static let text = ResponseDecoder<String>.text(encoding: .utf8)

    public static func text(encoding: String.Encoding) -> ResponseDecoder<String> {
        return ResponseDecoder { _, data in
            guard let string = String(data: data, encoding: encoding) else {
                throw CocoaError(
                    .fileReadInapplicableStringEncoding, userInfo: [NSStringEncodingErrorKey: encoding.rawValue])
            }

            return string
        }
    }
}

extension AuthenticationProvider {
    static let custom: @Sendable (String) -> AuthenticationProvider = { customToken in
        AuthenticationProvider { header in
            header[.authorization] = "Custom \(customToken)"
        }
    }
}

extension BodyProvider {
    static func text(_ text: String) -> BodyProvider {
        return BodyProvider { header in
            guard let data = text.data(using: .utf8) else {
                throw TextBodyEncodingError.utf8EncodingFailed
            }

            header.set(.contentType(.plainText))
            return .data(data)
        }
    }
}

// One type for each request. A protocol of the app contains their common properties.

protocol ExampleRequest: RequestConvertible {}

extension ExampleRequest {
    var baseURL: URL { return URL("https://dev.example.com/api") }
    var method: HTTPMethod { return .get }
    var authenticationProvider: AuthenticationProvider { return .bearerToken("DEADBEEF") }
}

struct GetBook: ExampleRequest {
    struct Resource: Decodable, Equatable {
        let title: String
    }

    let identifier: Int

    var endpoint: RequestPath { return "/book/\(identifier)" }
    var responseDecoder: ResponseDecoder<Resource> { return .json(encoded: Resource.self) }
}

struct DeleteBook: ExampleRequest {
    typealias Resource = Void

    let identifier: Int

    var endpoint: RequestPath { return "/book/\(identifier)" }
    var method: HTTPMethod { return .delete }
}

// A request type with the property types of 0.3.2.

struct SearchBooks: RequestConvertible {
    typealias Resource = String

    let text: String

    var baseURL: URL { return URL("https://dev.example.com/api") }
    var endpoint: String { return "/books/search" }
    var method: HTTPMethod { return .get }
    var header: Header { return [.accept(.plainText)] }
    var queryItems: [URLQueryItem] { return [URLQueryItem(name: "query", value: text)] }
    var timeoutInterval: TimeInterval { return 15 }
}

// The calls of that README, with one correction: the result's cases have the names of the code, not of the README.

struct App {
    let session: URLSession
    let api = ExampleAPI.development

    func calls(_ done: @escaping @Sendable (String) -> Void) {
        let getUserRequest = api.get(.json(encoded: User.self), from: "/user/1/")

        session.perform(getUserRequest) { result in
            switch result {
            case .success(let (urlResponse, user)):
                done("\(urlResponse.statusCode) user \(user.id)")

            case .failure(let error):
                done("\(error.httpResponse?.statusCode ?? 0) \(error)")
            }
        }

        let user = User()
        let createUserRequest = api.post(.json(encoded: user), to: "/user/")
        session.perform(createUserRequest) { result in
            done((try? result.get()) == nil ? "not created" : "created")
        }

        let authToken = "DEADBEEF-DEADBEEF-DEADBEEF"
        let updateUserRequest = api.patch("/user/1", with: .json(encoded: user))
            .authenticated(with: .bearerToken(authToken))

        session.perform(updateUserRequest) { _ in done("updated") }
    }
}
