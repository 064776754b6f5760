import Requests
import RequestsBench
import RequestsFoundation

/// Describing and preparing requests, against the same by hand in the same run.
enum Describing {
    static let api = Catalogue(baseURL: URL("https://api.example.com/v1"))
    static let twenty = QueryItems((0..<20).map { QueryItems.Item(name: "name \($0)", value: "value & \($0)") })
    static let four = QueryItems(twenty.prefix(4))
    static let record = Record(items: (0..<20).map { Record.Item(id: $0, name: "a name that is some bytes long") })
    static let parts = (0..<10).map { MultipartPart.text("the value of a field", name: "field\($0)") }

    struct Record: Encodable, Sendable {
        struct Item: Encodable, Sendable {
            let id: Int
            let name: String
        }
        let items: [Item]
    }

    /// Two path values, two fields and three query items.
    private static func search() -> Request<Catalogue, Void> {
        api.request(to: "/users/\("octo cat")/repos/\(42)", using: .get)
            .adding(headerField: .accept(.json)).adding(headerField: .acceptLanguage("en"))
            .with(query: ["q": "swift & linux", "page": 2, "sort": "stars"])
    }

    /// That request as bytes.
    static func get() throws(RequestError) -> [UInt8] {
        try RequestHeadWriter.head(of: search().prepared(), framing: .none)
    }

    /// That request as Foundation's.
    static func getAsURLRequest() throws -> URLRequest { try search().toURLRequest() }

    /// That request described and written so many times, and nothing else: for tools that count what a program does.
    static func count(_ words: [String]) throws {
        guard words.count == 1, let times = Int(words[0]) else { throw Mistake("describe needs a number") }
        for _ in 0..<times { withExtendedLifetime(try get()) {} }
    }

    /// The same request made by hand.
    static func getByHand() -> URLRequest? {
        let url = api.baseURL.appendingPathComponent("users").appendingPathComponent("octo cat")
            .appendingPathComponent("repos").appendingPathComponent("\(42)")
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.queryItems = [
            URLQueryItem(name: "q", value: "swift & linux"), URLQueryItem(name: "page", value: "2"),
            URLQueryItem(name: "sort", value: "stars"),
        ]
        guard let url = components?.url else { return nil }
        var request = URLRequest(url: url)
        request.httpMethod = "GET"
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        request.setValue("en", forHTTPHeaderField: "Accept-Language")
        return request
    }

    /// JSON of 1 KB as it is made by hand: encoded, and put into a request with its type.
    static func jsonByHand() throws -> URLRequest {
        var request = URLRequest(url: URL("https://api.example.com/v1/records"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        request.httpBody = try encoder.encode(record)
        return request
    }

    /// A form of 10 parts as it is made by hand: text put together, and put into a request with its type.
    static func multipartByHand() -> URLRequest {
        let boundary = "Boundary-\(UUID().uuidString)"
        var body = Data()
        for index in 0..<10 {
            body.append(Data("--\(boundary)\r\n".utf8))
            body.append(Data("Content-Disposition: form-data; name=\"field\(index)\"\r\n".utf8))
            body.append(Data("Content-Type: text/plain; charset=utf-8\r\n\r\n".utf8))
            body.append(Data("the value of a field\r\n".utf8))
        }
        body.append(Data("--\(boundary)--\r\n".utf8))
        var request = URLRequest(url: URL("https://api.example.com/v1/records"))
        request.httpMethod = "POST"
        request.setValue("multipart/form-data; boundary=\(boundary)", forHTTPHeaderField: "Content-Type")
        request.httpBody = body
        return request
    }

    /// A POST of `body` described and prepared.
    static func post(_ body: BodyProvider) throws(RequestError) -> PreparedRequest {
        try api.post(body, to: "/records").prepared()
    }

    static func body(_ provider: BodyProvider) throws -> RequestBody {
        var header = Header.empty
        return try provider.body(updating: &header)
    }

    /// A form as it is made by hand with Foundation.
    static func formByHand(_ items: QueryItems) -> Data {
        var components = URLComponents()
        components.queryItems = items.map { URLQueryItem(name: $0.name, value: $0.value) }
        return Data((components.percentEncodedQuery ?? "").utf8)
    }
}
