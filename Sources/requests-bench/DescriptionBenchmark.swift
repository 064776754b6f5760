import Requests
import RequestsBench
import RequestsFoundation

/// The description and preparation of requests, and the same by hand in the same run.
enum DescriptionBenchmark {
    static let api = Catalogue(baseURL: URL("https://api.example.com/v1"))
    static let twenty = QueryItems((0..<20).map { QueryItems.Item(name: "name \($0)", value: "value & \($0)") })
    static let four = QueryItems(twenty.prefix(4))
    static let record = Record(items: (0..<20).map { Record.Item(id: $0, name: "a name that is some bytes long") })
    static let parts = (0..<10).map { MultipartForm.Part.text("the value of a field", name: "field\($0)") }

    struct Record: Encodable, Sendable {
        struct Item: Encodable, Sendable {
            let id: Int
            let name: String
        }
        let items: [Item]
    }

    /// Returns a request with two path values, two header fields and three query items.
    private static func search() -> Request<Catalogue, Void> {
        api.request(to: "/users/\("octo cat")/repos/\(42)", using: .get)
            .adding(headerField: .accept(.json)).adding(headerField: .acceptLanguage("en"))
            .with(query: ["q": "swift & linux", "page": 2, "sort": "stars"])
    }

    /// Returns the request of ``search()`` as bytes.
    static func get() throws(RequestError) -> [UInt8] {
        try RequestHeadWriter.head(of: search().prepared(), framing: .none)
    }

    /// Returns the request of ``search()`` as Foundation's type.
    static func getAsURLRequest() throws -> URLRequest { try search().toURLRequest() }

    /// Describes and writes the request of ``search()`` a given number of times, for tools that count instructions or
    /// allocations.
    static func count(_ words: [String]) throws {
        guard words.count == 1, let times = Int(words[0]) else { throw BenchmarkError("describe requires N") }
        for _ in 0..<times { withExtendedLifetime(try get()) {} }
    }

    /// Returns the request of ``search()`` made by hand.
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

    /// Returns a request with 1 KB of JSON made by hand: encoded, and added with its media type.
    static func jsonByHand() throws -> URLRequest {
        var request = URLRequest(url: URL("https://api.example.com/v1/records"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        request.httpBody = try encoder.encode(record)
        return request
    }

    /// Returns a request with a form of 10 parts made by hand: joined as text, and added with its media type.
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

    /// Returns a POST of `body`, described and prepared.
    static func post(_ body: BodyProvider) throws(RequestError) -> PreparedRequest {
        try api.post(body, to: "/records").prepared()
    }

    static func body(_ provider: BodyProvider) throws -> RequestBody {
        var header = Header.empty
        return try provider.body(updating: &header)
    }

    /// Returns a form made by hand with Foundation.
    static func formByHand(_ items: QueryItems) -> Data {
        var components = URLComponents()
        components.queryItems = items.map { URLQueryItem(name: $0.name, value: $0.value) }
        return Data((components.percentEncodedQuery ?? "").utf8)
    }
}
