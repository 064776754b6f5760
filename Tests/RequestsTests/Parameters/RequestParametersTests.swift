import Requests
import TestSupport
import Testing

@Suite("RequestParameters")
struct RequestParametersTests {
    @Test("a literal keeps order and duplicates, and values are read and set by name", .rows("HT-12"))
    func literal() {
        var parameters: RequestParameters = ["b": 1, "a": 2, "b": 3]
        #expect(parameters.map(\.name) == ["b", "a", "b"])
        #expect(parameters["b"] == 3)
        #expect(parameters["c"] == nil)
        parameters["b"] = 4
        #expect(parameters == ["b": 4, "a": 2])
        parameters["a"] = nil
        parameters["c"] = "\(5)"
        #expect(parameters == ["b": 4, "c": "5"])
        #expect(RequestParameters(["b": 1, "a": 2] as [String: RequestParameters.Value]) == ["a": 2, "b": 1])
        #expect(RequestParameters(["q": 1, "flag": nil] as QueryItems) == ["q": "1", "flag": nil])
    }

    @Test("merging replaces the values of a name by later ones", .rows("HT-14", "HT-15"))
    func merging() {
        var parameters: RequestParameters = ["a": 1, "b": 2, "a": 3]
        parameters.merge(["c": 4, "a": 5, "a": 6])
        #expect(parameters == ["b": 2, "c": 4, "a": 5, "a": 6])
    }

    @Test("descriptions do not show values")
    func secrets() {
        for text in everyText(of: ["token": "hunter2"] as RequestParameters) {
            #expect(!text.contains("hunter2"))
        }
    }

    struct Search: Encodable {
        enum Order: String, Encodable { case up }
        struct Span: Encodable { var from: Date, to: Date? }
        var text = "swift & linux"
        var page = 2
        var isExact = true
        var ratio = 0.5
        var small: Float = 0.1
        var huge = UInt64.max
        var order = Order.up
        var tags = ["b", "a"]
        var span = Span(from: Date(timeIntervalSince1970: 0), to: nil)
        var none: Int?
        var bytes = Data([1])
        var link = URL("https://e.com/?a=b")
        var labels = ["z": 1, "y": 2]
    }

    @Test(
        "an Encodable value keeps the order of its members, a Dictionary is sorted, and dates stay dates", .rows("D-4"))
    func encodable() throws {
        let expected: RequestParameters = [
            "text": "swift & linux", "page": 2, "isExact": true, "ratio": 0.5, "small": 0.1,
            "huge": .unsigned(.max), "order": "up", "tags": ["b", "a"],
            "span": ["from": .date(Date(timeIntervalSince1970: 0))], "bytes": .data(Data([1])),
            "link": "https://e.com/?a=b", "labels": ["y": 2, "z": 1],
        ]
        #expect(try RequestParameters(encoding: Search()) == expected)
        #expect(try RequestParameters(encoding: ["b": 1, "a": 2]) == ["a": 2, "b": 1])
        #expect(try RequestParameters(encoding: [String: Int]()) == .empty)
        #expect(try RequestParameters(encoding: expected) == expected)
    }

    @Test("super encoders, nested containers and explicit nulls are encoded")
    func containers() throws {
        struct Odd: Encodable {
            enum Name: String, CodingKey { case list, deep, null, base }
            func encode(to encoder: any Encoder) throws {
                var named = encoder.container(keyedBy: Name.self)
                var list = named.nestedUnkeyedContainer(forKey: .list)
                try list.encode(1)
                try list.encodeNil()
                var inner = list.nestedContainer(keyedBy: Name.self)
                try inner.encode("x", forKey: .deep)
                var huge = list.superEncoder().singleValueContainer()
                try huge.encode(Int128.max)
                var last = list.nestedUnkeyedContainer()
                try last.encode(UInt8(list.count))
                try named.encodeNil(forKey: .null)
                var base = named.superEncoder(forKey: .base).singleValueContainer()
                try base.encode(Int64(-1))
                try ["s": true].encode(to: named.superEncoder())
            }
        }
        let huge = RequestParameters.Value.decimal(try #require(Decimal(string: "\(Int128.max)")))
        #expect(
            try RequestParameters(encoding: Odd()) == [
                "list": [1, nil, ["deep": "x"], huge, [5]], "null": nil, "base": -1, "super": ["s": true],
            ])
    }

    @Test(
        "a value of 100,000 levels is released, and an error wherever it is written", .rows("HT-12"),
        arguments: [
            { .array([1, $0]) }, { .set([$0]) }, { .item("a", $0) }, { ["b": ["c", $0]] }, { .dictionary(["d": $0]) },
        ] as [@Sendable (RequestParameters.Value) -> RequestParameters.Value])
    func deep(nest: @Sendable (RequestParameters.Value) -> RequestParameters.Value) throws {
        let value = (0..<100_000).reduce(1 as RequestParameters.Value) { value, _ in nest(value) }
        #expect(value.content == .null && value != .null)
        let parameters: RequestParameters = ["v": value]
        let destinations: [ParameterSet.Destination] = [.query, .form, .json, .propertyList]
        for destination in destinations {
            let request = AnonymousRequestProvider.example.post(.none, to: "/").adding(
                parameters: parameters, in: destination)
            let error = #expect(throws: RequestError.self) { try request.prepared() }
            #expect(error?.underlying as? RequestParameters.ParameterError == .tooDeeplyNested)
        }
        #expect(throws: RequestParameters.ParameterError.tooDeeplyNested) {
            try RequestParameters(encoding: ["v": value])
        }
        let deepest = (0..<500).reduce(1 as RequestParameters.Value) { value, _ in .array([value]) }
        #expect(try RequestParameters.Format.standard.query(of: ["v": deepest]) == "v=1")
    }

    @Test("values that contain too many others are errors wherever they are written", .rows("HT-12"))
    func tooMany() throws {
        let double: (RequestParameters.Value) -> RequestParameters.Value = { .array([$0, $0]) }
        let parameters: RequestParameters = ["v": (0..<400).reduce("x") { value, _ in double(value) }]
        #expect(parameters == ["v": (0..<400).reduce("x") { value, _ in double(value) }])
        for destination in [.query, .form, .json, .propertyList] as [ParameterSet.Destination] {
            let request = AnonymousRequestProvider.example.post(.none, to: "/").adding(
                parameters: parameters, in: destination)
            let error = #expect(throws: RequestError.self) { try request.prepared() }
            #expect(error?.underlying as? RequestParameters.ParameterError == .tooManyValues)
        }
        #expect(throws: RequestParameters.ParameterError.tooManyValues) {
            try RequestParameters(encoding: ["v": parameters])
        }
        // Each scalar has all the names before it.
        let large = (0..<16).reduce("x") { value, _ in double(value) }
        let named = (0..<100).reduce(large) { value, _ in .item(String(repeating: "n", count: 100), value) }
        #expect(throws: RequestParameters.ParameterError.tooManyValues) {
            try RequestParameters.Format.standard.query(of: ["v": named])
        }
        let some = (0..<10).reduce("x") { value, _ in double(value) }
        #expect(try RequestParameters.Format.standard.items(of: ["v": some]).count == 1_024)
    }

    @Test("the elements of a Set are sorted by their texts, nested values included", .rows("D-4"))
    func sets() throws {
        struct Item: Encodable, Hashable { let id: Int, date: Date }
        struct Values: Encodable {
            var words: Set = ["b", "a", "é", "c", "B", "ab", "d", "e"]
            var items = Set((0..<9).map { Item(id: $0, date: .distantFuture + Double($0) * 1e12) })
            var nested: Set<Set<Int>> = [[3, 1, 2], [10, 9], []]
            var indices: [Set<Bool?>] = [[true, nil, false]]
        }
        let parameters = try RequestParameters(encoding: Values())
        #expect(parameters["words"] == ["B", "a", "ab", "b", "c", "d", "e", "é"])
        #expect(parameters["nested"] == [[], [1, 2, 3], [10, 9]])
        #expect(parameters["indices"] == [[nil, false, true]])
        guard case .array(let items)? = parameters["items"]?.content else { throw CancellationError() }
        let ids = items.map { item -> RequestParameters.Value? in
            if case .nested(let item) = item.content { item["id"] } else { nil }
        }
        #expect(ids == (0..<9).map { .integer($0) })
    }

    @Test("encoding takes time in proportion to the number of elements and members", .rows("D-4"))
    func growth() async throws {
        for isList in [true, false] {
            let ratio = try await Growth.ratio(size: 4_000) { count in
                let list = Array(0..<count)
                let members = Dictionary(uniqueKeysWithValues: list.map { ("\($0)", $0) })
                return {
                    _ = try isList ? RequestParameters(encoding: ["v": list]) : RequestParameters(encoding: members)
                }
            }
            #expect(ratio < Growth.limit, "list: \(isList)")
        }
    }

    @Test("a value without names and a value with endless nesting are rejected")
    func refused() {
        struct Endless: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(Endless())
            }
        }
        #expect(throws: RequestParameters.ParameterError.withoutNames) { try RequestParameters(encoding: [1]) }
        #expect(throws: RequestParameters.ParameterError.withoutNames) { try RequestParameters(encoding: "a") }
        #expect(throws: RequestParameters.ParameterError.tooDeeplyNested) { try RequestParameters(encoding: Endless()) }
    }
}
