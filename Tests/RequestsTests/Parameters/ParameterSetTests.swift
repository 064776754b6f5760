import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

private func prepared(_ method: HTTPMethod, _ sets: ParameterSet...) throws -> PreparedRequest {
    try sets.reduce(api.request(to: "/x" as RequestPath, using: method)) { $0.adding($1) }.prepared()
}

@Suite("Parameter sets")
struct ParameterSetTests {
    @Test(
        "GET, HEAD and DELETE send parameters in the query, others in the body",
        .rows("PM-40", "AF-9", "AF-10", "AF-11", "C14", "D-11"),
        arguments: [
            (HTTPMethod.get, true), (.head, true), (.delete, true), ("get", true), (.post, false), (.put, false),
            (.patch, false), (.options, false),
        ])
    func placement(method: HTTPMethod, isQuery: Bool) throws {
        let request = try prepared(method, ParameterSet(["a": "1"], in: .byMethod))
        #expect(request.target.query == (isQuery ? "a=1" : nil))
        #expect(request.body.text == (isQuery ? nil : "a=1"))
    }

    @Test(
        "a request can override where parameters are sent; beside another body they are a query",
        .rows("C14", "D-11", "PM-40", "AF-9", "AF-19")
    )
    func overriding() throws {
        let deleted = try prepared(.delete, ParameterSet(["a": 1], in: .byMethod(queryMethods: [.get])))
        #expect(deleted.body.text == "a=1" && deleted.target.query == nil)
        let queried = try prepared(.post, ParameterSet(["a": 1], in: .query))
        #expect(queried.target.query == "a=1" && queried.body.isNone)
        let body = ParameterSet(["a": [1]], in: .byMethod(.afnetworking, body: .json, queryMethods: ["get"]))
        #expect(try prepared(.get, body).target.query == "a%5B%5D=1")
        #expect(try prepared(.post, body).body.text == #"{"a":[1]}"#)
        let upload = try api.post(.raw(data: Data("x".utf8)), to: "/x").adding(parameters: ["a": 1]).prepared()
        #expect(upload.body.text == "x" && upload.target.query == "a=1")
        let json = try api.post(.json([1]), to: "/x").adding(parameters: ["a": 1])
            .adding(parameters: ["b": 2], in: .form).prepared()
        #expect(json.body.text == "[1]" && json.target.query == "a=1")
    }

    @Test(
        "parameters follow the query of the base URL and of the request, before a fragment",
        .rows("AF-10", "C32", "PM-40"))
    func appending() throws {
        let base = try AnonymousRequestProvider(text: "https://e.com/api?k=1#top")
        let request = base.get(.none, from: "/x").adding(queryItem: ("q", 2)).adding(parameters: ["p": 3])
        #expect(try request.preparedURL() == "https://e.com/api/x?k=1&q=2&p=3#top")
        #expect(
            try base.get(.none, from: "").adding(parameters: ["p": 3]).preparedURL() == "https://e.com/api?k=1&p=3#top")
        #expect(try base.get(.none, from: "/x").adding(parameters: [:]).preparedURL() == "https://e.com/api/x?k=1#top")
    }

    @Test("an empty set adds no question mark and no body", .rows("T-27", "D-17", "AF-10", "AF-11"))
    func empty() throws {
        #expect(try prepared(.get, ParameterSet([:], in: .byMethod)).target.query == nil)
        let form = try prepared(.post, ParameterSet([:], in: .form))
        #expect(form.body.isNone)
        #expect(form.header[.contentType] == "application/x-www-form-urlencoded")
        #expect(try prepared(.post).body.isNone)
        let filled = try prepared(.post, ParameterSet(["key": "value"], in: .byMethod))
        #expect(filled.body.text == "key=value")
        #expect(filled.header[.contentType] == "application/x-www-form-urlencoded")
    }

    @Test(
        "JSON and query parameters of one request are kept separate",
        .rows("T-79", "HT-12", "HT-13", "HT-14", "HT-17", "C15", "D-19"))
    func several() throws {
        let request = try prepared(
            .post, ParameterSet(["name": "n"], in: .json), ParameterSet(["dob": "d"], in: .json),
            ParameterSet(["age": 5], in: .query))
        #expect(request.body.text == #"{"dob":"d","name":"n"}"#)
        #expect(request.header[.contentType] == "application/json")
        #expect(request.target.requestTarget == "/api/x?age=5")
    }

    @Test(
        "later values replace earlier ones, and the last body format is used",
        .rows("T-80", "HT-13", "HT-14", "HT-15", "HT-16", "C16")
    )
    func merging() throws {
        struct Based: RequestProviding {
            var baseURL: URL { URL("https://e.com") }
            func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<Based, Void> {
                Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method)
                    .adding(parameters: ["key": "base", "kept": true], in: .json)
            }
        }
        let own = try Based().post(.none, to: "/x").adding(parameters: ["key": "own"], in: .json).prepared()
        #expect(own.body.text == #"{"kept":true,"key":"own"}"#)
        let twice = try prepared(.post, ParameterSet(["k": 1], in: .form), ParameterSet(["k": 2], in: .form))
        #expect(twice.body.text == "k=2")
        let list = try prepared(.post, ParameterSet(["j": 1], in: .json), ParameterSet(["p": 2], in: .propertyList))
        #expect(list.header[.contentType] == "application/x-plist")
        #expect(list.body.text?.contains("<key>p</key>") == true && list.body.text?.contains("<key>j</key>") == false)
        let json = try prepared(.post, ParameterSet(["p": 2], in: .propertyList), ParameterSet(["j": 1], in: .json))
        #expect(json.body.text == #"{"j":1}"#)
    }

    @Test(
        "an upload keeps its body: JSON is omitted, and a multipart form appends fields",
        .rows("T-81", "HT-20", "HT-21")
    )
    func uploads() throws {
        let sets = [
            ParameterSet(["j": 1], in: .json), ParameterSet(["p": "v"], in: .propertyList),
            ParameterSet(["u": 2], in: .query),
        ]
        let part = MultipartForm.Part.data(Data("x".utf8), name: "file", filename: "f.bin")
        let form = try sets.reduce(api.post(.multipart([part], boundary: "B"), to: "/x")) { $0.adding($1) }.prepared()
        let names = form.body.text?.split(separator: "; name=\"").dropFirst().map { $0.prefix { $0 != "\"" } }
        #expect(names == ["file", "p"])
        #expect(form.body.text?.hasSuffix("\r\n\r\nv\r\n--B--\r\n") == true)
        #expect(form.target.query == "u=2")
        let data = try sets.reduce(api.post(.raw(data: Data("x".utf8)), to: "/x")) { $0.adding($1) }.prepared()
        #expect(data.body.text == "x" && data.target.query == "u=2")
        let ignored = try api.post(.multipart([part], boundary: "B"), to: "/x").adding(sets[0]).prepared()
        #expect(ignored.body.text?.contains("\"j\"") == false)
    }

    @Test("custom sets are applied after all others, in order and without merging", .rows("HT-13", "HT-17"))
    func custom() throws {
        let first = ParameterSet.Destination.custom { parameters, request in
            request.header.set(Field(name: "X-Names", value: parameters.map(\.name).joined(separator: "+")))
        }
        let second = ParameterSet.Destination.custom { _, request in
            #expect(request.header["X-Names"] == "a+b")
            request.body = .bytes(Data("own".utf8))
        }
        let request = try prepared(
            .post, ParameterSet(["a": 1, "b": 2], in: first), ParameterSet(["c": 1], in: .json),
            ParameterSet(["d": 1], in: second))
        #expect(request.body.text == "own")
    }

    @Test("an Encodable value becomes a query or a form when the request is prepared", .rows("D-4"))
    func encodable() throws {
        struct Search: Encodable { var text = "a b", tags = ["x", "y"] }
        let request = api.get(.none, from: "/x").adding(queryItem: ("old", 1)).with(query: Search())
        #expect(try request.preparedURL() == "https://e.com/api/x?text=a%20b&tags=x&tags=y")
        let indexed = RequestParameters.Format.afnetworking
        #expect(
            try api.get(.none, from: "/x").with(query: Search(), format: indexed).preparedURL()
                == "https://e.com/api/x?tags%5B%5D=x&tags%5B%5D=y&text=a%20b")
        #expect(try api.post(.form(Search()), to: "/x").prepared().body.text == "text=a%20b&tags=x&tags=y")
        #expect(try api.get(.none, from: "/x").adding(parameters: Search()).prepared().target.query != nil)
        expectInvalid(.parametersNotEncoded) { try api.get(.none, from: "/x").with(query: [1, 2]).prepared() }
    }

    private func target(of any: some RequestConvertible) throws -> TargetURI { try any.prepared().target }

    private func query(_ request: Request<AnonymousRequestProvider, Void>) throws -> String? {
        let prepared = try request.prepared()
        #expect(try target(of: request) == prepared.target)
        return prepared.target.query
    }

    @Test("the query keeps the order in which items, parameter sets and Encodable values were added", .rows("HT-12"))
    func callOrder() throws {
        struct Search: Encodable { var text = "a" }
        let request = api.get(.none, from: "/x")
        #expect(try query(request.with(query: Search()).adding(queryItem: ("page", 2))) == "text=a&page=2")
        #expect(try query(request.adding(queryItem: ("page", 2)).with(query: Search())) == "text=a")
        let parameters = request.adding(parameters: ["p": 1], in: .query)
        #expect(try query(parameters.adding(queryItem: ("q", 2))) == "p=1&q=2")
        #expect(try query(request.adding(queryItem: ("q", 2)).adding(parameters: ["p": 1], in: .query)) == "q=2&p=1")
        #expect(try query(parameters.with(query: ["q": 2])) == "p=1&q=2")
        #expect(try query(parameters.with(query: Search()).adding(queryItem: ("q", 2))) == "text=a&p=1&q=2")
        #expect(
            try query(parameters.receiving(.none).adding(queryItem: ("q", 2)).adding(parameters: ["r": 3], in: .query))
                == "p=1&r=3&q=2")
    }

    @Test(
        "a set that changes the target to another host does not send the environment's credentials there", .rows("PM-6")
    )
    func leadingAway() throws {
        var environment = try #require(RequestEnvironment(string: "https://e.com/api/"))
        environment.authenticationProvider = .bearerToken("t")
        let away = ParameterSet.Destination.custom { _, request in request.target = try TargetURI("https://other.com/")
        }
        let request = environment.get(.none, from: "/x")
        #expect(try request.prepared().header[.authorization] == "Bearer t")
        #expect(try request.adding(parameters: [:], in: away).prepared().header[.authorization] == nil)
    }

    @Test("a custom set can also change the settings of the request")
    func changingSettings() throws {
        let quick = ParameterSet.Destination.custom { _, request in
            request.timeouts.total = .seconds(1)
            request.pathTemplate = "/own"
        }
        let request = try api.get(.none, from: "/x").adding(parameters: [:], in: quick).prepared()
        #expect(request.timeouts.total == .seconds(1))
        #expect(request.pathTemplate == "/own")
    }

    @Test("a set is kept when the decoder changes, and custom request types can have sets", .rows("RQ-16"))
    func carried() throws {
        struct Handmade: RequestConvertible {
            typealias Resource = Void
            var baseURL: URL { URL("https://e.com") }
            var endpoint: RequestPath { "/x" }
            var parameterSets: [ParameterSet] { [ParameterSet(["a": 1], in: .query)] }
        }
        #expect(try Handmade().prepared().target.query == "a=1")
        #expect(
            try api.get(.none, from: "/x").adding(parameters: ["a": 1]).receiving(.text).prepared().target.query
                == "a=1")
    }
}
