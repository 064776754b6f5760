import Foundation
import Requests
import TestSupport
import Testing

/// The items that a value of a common type has in a query and in a form.
private struct TypeCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The names that follow the name of the value, and their texts.
    let items: [(suffix: String, text: String)]
    /// Encodes the value as a property, an element, a member of a dictionary, nested, and alone.
    let encode: @Sendable () throws -> [(prefix: String, parameters: RequestParameters)]
    let encodeAlone: @Sendable () throws -> RequestParameters

    init<Value: Encodable & Sendable>(_ value: Value, _ items: [(suffix: String, text: String)]) {
        testDescription = "\(Value.self) \(value)"
        self.items = items
        encode = {
            [
                ("v", try RequestParameters(encoding: Property(v: value))),
                ("v", try RequestParameters(encoding: OptionalProperty(v: value))),
                ("v", try RequestParameters(encoding: ["v": value])),
                ("n[v]", try RequestParameters(encoding: ["n": ["v": value]])),
                ("n[v]", try RequestParameters(encoding: ["n": Property(v: value)])),
                ("v", try RequestParameters(encoding: ["v": [value]])),
                ("v", try RequestParameters(encoding: ["v": [[value as Value?]]])),
            ]
        }
        encodeAlone = { try RequestParameters(encoding: value) }
    }

    init(_ value: some Encodable & Sendable, _ text: String) { self.init(value, [("", text)]) }
}

private struct Property<Value: Encodable>: Encodable { var v: Value }
private struct OptionalProperty<Value: Encodable>: Encodable { var v: Value? }

private enum Color: String, Encodable { case red = "re d" }

private enum Key: String, CodingKeyRepresentable, Encodable {
    case one, two
    struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
    var codingKey: any CodingKey { Name(stringValue: "key-\(rawValue)") }
    init?(codingKey: some CodingKey) { nil }
}

@Suite("Types of parameters")
struct ParameterTypeTests {
    private static let uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    private static let cases: [TypeCase] = [
        TypeCase(Decimal(string: "1234.567890123456789012345678901234") ?? 0, "1234.567890123456789012345678901234"),
        TypeCase(Decimal(string: "-0.01") ?? 0, "-0.01"), TypeCase(Decimal(19.99), "\(Decimal(19.99))"),
        TypeCase(Decimal(3), "3"), TypeCase(Decimal.nan, "nan"),
        TypeCase(Int128.max, "170141183460469231731687303715884105727"),
        TypeCase(Int128.min, "-170141183460469231731687303715884105728"),
        TypeCase(UInt128.max, "340282366920938463463374607431768211455"), TypeCase(Int128(-1), "-1"),
        TypeCase(UInt128(7), "7"), TypeCase(UInt64.max, "18446744073709551615"), TypeCase(Int8.min, "-128"),
        TypeCase(UInt16.max, "65535"), TypeCase(Int64.min, "-9223372036854775808"),
        TypeCase(0.1, "0.1"), TypeCase(1e300, "1e+300"), TypeCase(Double.infinity, "inf"),
        TypeCase(Float(0.1), "0.1"), TypeCase(Float(1e-45), "1e-45"), TypeCase(Float.infinity, "inf"),
        TypeCase(Float(20_000_000), "20000000.0"), TypeCase(CGFloat(0.1), "0.1"),
        TypeCase(true, "true"), TypeCase("a é&=", "a é&="), TypeCase(Color.red, "re d"), TypeCase(String?("x"), "x"),
        TypeCase(uuid, "01020304-0506-0708-090A-0B0C0D0E0F10"),
        TypeCase(Date(timeIntervalSince1970: 0), "1970-01-01T00:00:00Z"),
        TypeCase(URL("https://e.com/a?b=c#d"), "https://e.com/a?b=c#d"), TypeCase(Data([0xFB, 0xFF]), "+/8="),
        TypeCase(DateComponents(year: 2026, month: 11), [("[year]", "2026"), ("[month]", "11")]),
        TypeCase(TimeZone(secondsFromGMT: 0), [("[identifier]", "GMT")]),
        TypeCase(1..<5, [("", "1"), ("", "5")]), TypeCase(1...5, [("", "1"), ("", "5")]),
        TypeCase(Decimal(1)...Decimal(5), [("", "1"), ("", "5")]), TypeCase(2..., [("", "2")]),
        TypeCase([Key.two: Int128(2), .one: 1], [("[key-one]", "1"), ("[key-two]", "2")]),
        TypeCase([2: Decimal(2), 1: 1], [("[1]", "1"), ("[2]", "2")]),
        TypeCase(["b": ["y": UInt128.max]], [("[b][y]", "340282366920938463463374607431768211455")]),
    ]

    @Test("the common types have the expected texts in queries and forms", .rows("D-4", "HT-12"), arguments: cases)
    fileprivate func texts(type: TypeCase) throws {
        for (prefix, parameters) in try type.encode() {
            let names = type.items.map { prefix + $0.suffix }
            let items = try RequestParameters.Format.standard.items(of: parameters)
            #expect(items.map(\.name).sorted() == names.sorted() && items.map(\.value).count == names.count)
            #expect(
                Set(items.map { "\($0.name)=\($0.value ?? "nil")" })
                    == Set(zip(names, type.items).map { "\($0)=\($1.text)" }))
            let encoded = items.map {
                PercentEncoding.strict.encode($0.name) + "=" + PercentEncoding.strict.encode($0.value ?? "")
            }.joined(separator: "&")
            let query = AnonymousRequestProvider.example.head("/").adding(parameters: parameters, in: .query)
            #expect(try query.prepared().target.query == encoded)
            let form = BodyProvider.form(parameters: parameters)
            let request = try AnonymousRequestProvider.example.post(form, to: "/").prepared()
            #expect(request.wireText.hasSuffix("\n\n" + encoded))
        }
        let isNested = type.items.allSatisfy { $0.suffix.hasPrefix("[") }
        if isNested {
            #expect(try type.encodeAlone().count == type.items.count)
        } else {
            #expect(throws: RequestParameters.ParameterError.withoutNames) { try type.encodeAlone() }
        }
    }

    @Test("measurements and locales have the structure that they have in JSON", .rows("D-4"))
    func structures() throws {
        let locale = try RequestParameters.Format.standard.items(
            of: RequestParameters(encoding: ["l": Locale(identifier: "de_DE")]))
        #expect(locale.contains(QueryItems.Item(name: "l[identifier]", value: "de_DE")))
        let value = Measurement(value: 3, unit: UnitLength.kilometers)
        let items = try RequestParameters.Format.standard.items(of: RequestParameters(encoding: ["m": value]))
        #expect(items.contains(QueryItems.Item(name: "m[value]", value: "3.0")))
        #expect(items.contains(QueryItems.Item(name: "m[unit][symbol]", value: "km")))
    }

    @Test("a nil property is left out, and a nil element or member is null", .rows("D-4"))
    func missing() throws {
        struct Values: Encodable {
            var a: Decimal?, b: Int128?, c: UInt128?
            var d: [Decimal?] = [1, nil]
            var e: [String: Int128?] = ["x": nil, "y": 2]
        }
        let query = try RequestParameters.Format.standard.query(of: RequestParameters(encoding: Values()))
        #expect(query == "d=1&d&e%5Bx%5D&e%5By%5D=2")
    }

    @Test("values without a text are errors before anything is sent", .rows("D-4"))
    func refused() throws {
        let uuid = Self.uuid
        func check(_ error: RequestParameters.ParameterError, _ value: some Encodable & Sendable) {
            #expect(throws: error) { try RequestParameters(encoding: ["v": value]) }
            #expect(throws: error) { try RequestParameters(encoding: ["v": [value]]) }
            let query = #expect(throws: RequestError.self) {
                try AnonymousRequestProvider.example.head("/").with(query: ["v": value]).prepared()
            }
            #expect(query?.reason == .invalidRequest(.parametersNotEncoded))
            #expect(query?.underlying as? RequestParameters.ParameterError == error)
            let form = #expect(throws: RequestError.self) {
                try AnonymousRequestProvider.example.post(.form(["v": value]), to: "/").prepared()
            }
            #expect(form?.reason == .bodyEncodingFailed)
            #expect(form?.underlying as? RequestParameters.ParameterError == error)
        }
        check(.keysWithoutNames, [uuid: 1])
        check(.keysWithoutNames, [Color.red: 1])
        check(.keysWithoutNames, [UUID: Int]())
        check(.durationWithoutUnit, Duration.seconds(5))
        check(.durationWithoutUnit, Duration?.some(.seconds(5)))
    }

    @Test("numbers stay numbers in JSON and in property lists", .rows("D-4", "HT-12"))
    func numbers() throws {
        struct Numbers: Encodable {
            var a = Decimal(string: "0.1234567890123456789") ?? 0
            var b = Int128.max
            var c = UInt128(1)
            var d: Float = 0.1
        }
        let parameters = try RequestParameters(encoding: Numbers())
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(
            String(decoding: try encoder.encode(parameters), as: UTF8.self)
                == #"{"a":0.1234567890123456789,"b":170141183460469231731687303715884105727,"c":1,"d":0.1}"#)
        #expect(try encoder.encode(parameters) == encoder.encode(Numbers()))
        let request = AnonymousRequestProvider.example.post(.none, to: "/").adding(
            parameters: ["a": .decimal(Decimal(string: "0.5") ?? 0)], in: .propertyList)
        #expect(try request.prepared().wireText.contains("<real>0.5</real>"))
    }

    @Test("query items and paths accept decimals and wide integers", .rows("RQ-8"))
    func literals() throws {
        let price = Decimal(string: "12.34") ?? 0
        let request = AnonymousRequestProvider.example.head("/x/\(UInt128.max)/\(Int128(-1))").with(
            query: ["price": price, "id": Int128.min, "all": [UInt128(1), 2]])
        #expect(
            try request.preparedURL() == "https://e.com/api/x/340282366920938463463374607431768211455/-1"
                + "?price=12.34&id=-170141183460469231731687303715884105728&all=1&all=2")
    }
}
