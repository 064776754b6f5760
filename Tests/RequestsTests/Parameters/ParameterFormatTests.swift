import Requests
import TestCorpora
import Testing

private let api = AnonymousRequestProvider.example

private func readable(_ parameters: RequestParameters, _ format: ParameterFormat = .standard) throws -> [String] {
    try format.items(of: parameters).map { item in item.value.map { "\(item.name)=\($0)" } ?? item.name }
}

private func format(_ change: (inout ParameterFormat) -> Void) -> ParameterFormat {
    var format = ParameterFormat.standard
    change(&format)
    return format
}

@Suite("ParameterFormat")
struct ParameterFormatTests {
    static let awkward: RequestParameters = [
        "foo": "bar", "key": "value + space", " +&=": " +&=", "*-.azAZ09_": "*-.azAZ09_", "!@?;~": "%",
    ]
    static let awkwardText =
        "foo=bar&key=value%20%2B%20space&%20%2B%26%3D=%20%2B%26%3D&*-.azAZ09_=*-.azAZ09_&%21%40%3F%3B%7E=%25"

    @Test("awkward names and values read alike in a query and in a form (T-20, PM-43, C3, D-6)")
    func escaping() throws {
        let query = api.get(.none, from: "/x").adding(parameters: Self.awkward)
        #expect(try query.preparedURL() == "https://e.com/api/x?" + Self.awkwardText)
        let form = try api.post(.form(parameters: Self.awkward), to: "/x").prepared()
        #expect(form.body.text == Self.awkwardText)
        #expect(form.header[.contentType] == "application/x-www-form-urlencoded")
    }

    @Test("an array repeats its name (T-21, C1, D-1)")
    func array() throws {
        #expect(try readable(["array": ["one", 2, true]]) == ["array=one", "array=2", "array=true"])
    }

    @Test("what is nested stands in brackets, a Dictionary sorted by name (T-22, PM-41, C2)")
    func nesting() throws {
        let members: [String: ParameterValue] = ["two": "something", "one": 1]
        let parameters = RequestParameters(["foo": "foo", "bar": 42, "dict": .dictionary(members)])
        #expect(try readable(parameters) == ["bar=42", "dict[one]=1", "dict[two]=something", "foo=foo"])
        #expect(try readable(["z": 1, "a": ["y": 2, "b": 3]]) == ["z=1", "a[y]=2", "a[b]=3"])
    }

    @Test("brackets at the end of a nested name stay outside (T-23, PM-41)")
    func brackets() throws {
        let parameters: RequestParameters = [
            "value[]": [["names": .set(["foo", "bar"])], ["dict": ["values[]": [1, 2, 3]]]]
        ]
        #expect(
            try readable(parameters) == [
                "value[][names]=bar", "value[][names]=foo", "value[][dict][values][]=1",
                "value[][dict][values][]=2", "value[][dict][values][]=3",
            ])
    }

    @Test("nested items take their names along, without a value too (T-24, PM-41)")
    func items() throws {
        let parameters: RequestParameters = [
            "foo": .item("bar", "baz"), "qux": .item("quux", nil),
            "array": [.item("wat[]", "one"), .item("frob", "grably")],
        ]
        #expect(try readable(parameters) == ["foo[bar]=baz", "qux[quux]", "array[wat][]=one", "array[frob]=grably"])
    }

    @Test(
        "arrays are written in four ways, empty ones in none (C1, AF-12, AF-15, D-1)",
        arguments: [
            (ParameterFormat.ArrayStyle.repeated, ["k=1", "k=", "d[a]=x", "d[b]=y", "e[f]=1"]),
            (.brackets, ["k[]=1", "k[]=", "d[][a]=x", "d[][b]=y", "e[f][]=1"]),
            (.indexed, ["k[0]=1", "k[1]=", "d[0][a]=x", "d[1][b]=y", "e[f][0]=1"]),
            (.joined(by: "|"), ["k=1|", "d[a]=x", "d[b]=y", "e[f]=1"]),
        ])
    func arrayStyles(style: ParameterFormat.ArrayStyle, expected: [String]) throws {
        let parameters: RequestParameters = [
            "k": [1, ""], "d": [["a": "x"], ["b": "y"]], "e": ["f": [1]], "none": [], "empty": [:],
        ]
        #expect(try readable(parameters, format { $0.arrays = style }) == expected)
    }

    @Test(
        "AFNetworking's rules: brackets, digits, sorted names, sets sorted (AF-12, AF-13, AF-14, AF-15, AF-16, C5, T-27)"
    )
    func afnetworking() throws {
        let parameters: RequestParameters = [
            "s": .set(["b", "a"]), "k": [true, false], "d": ["z": 1, "a": nil], "key1": "value&", "key": "value",
        ]
        #expect(
            try readable(parameters, .afnetworking) == [
                "d[a]", "d[z]=1", "k[]=1", "k[]=0", "key=value", "key1=value&", "s=a", "s=b",
            ])
        let plain: RequestParameters = ["key": "value", "key1": "value&"]
        #expect(try ParameterFormat.afnetworking.query(of: plain) == "key=value&key1=value%26")
        #expect(
            try ParameterFormat.afnetworking.query(of: ["q": ":#[]@!$&'()*+,;=?/"])
                == "q=%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D?/")
        #expect(try ParameterFormat.rfc3986.query(of: ["q": "~?"]) == "q=~%3F")
        #expect(try ParameterFormat.alamofire.query(of: ["a": [1]]) == "a%5B%5D=1")
    }

    @Test("null is a bare name, an empty value or nothing (C6, PM-42, AF-15)")
    func nulls() throws {
        let parameters: RequestParameters = ["a": nil, "b": "", "c": [nil, 1]]
        #expect(try readable(parameters) == ["a", "b=", "c", "c=1"])
        #expect(try readable(parameters, format { $0.nulls = .emptyValue }) == ["a=", "b=", "c=", "c=1"])
        #expect(try readable(parameters, format { $0.nulls = .dropped }) == ["b=", "c=1"])
    }

    @Test("booleans are words or digits, numbers as Swift prints them (C5, PM-42)")
    func scalars() throws {
        let parameters: RequestParameters = [
            "t": true, "n": -1, "u": .unsigned(.max), "d": 2.5, "b": .data(Data([0xFF])),
        ]
        #expect(try readable(parameters) == ["t=true", "n=-1", "u=18446744073709551615", "d=2.5", "b=/w=="])
        #expect(try readable(["t": true, "f": false], format { $0.booleans = .digits }) == ["t=1", "f=0"])
    }

    @Test("dates are written in UTC, as seconds, milliseconds or as one likes")
    func dates() throws {
        let parameters: RequestParameters = ["d": .date(Date(timeIntervalSince1970: 1.5))]
        let whole: RequestParameters = ["d": .date(Date(timeIntervalSince1970: 86_400))]
        #expect(try readable(whole) == ["d=1970-01-02T00:00:00Z"])
        #expect(try readable(parameters, format { $0.dates = .secondsSince1970 }) == ["d=1.5"])
        #expect(try readable(whole, format { $0.dates = .secondsSince1970 }) == ["d=86400"])
        #expect(try readable(parameters, format { $0.dates = .millisecondsSince1970 }) == ["d=1500"])
        #expect(try readable(parameters, format { $0.dates = .custom { _ in "now" } }) == ["d=now"])
    }

    @Test("a date that no calendar writes is refused", arguments: [Double.nan, .infinity, -.infinity, 1e15, -1e15])
    func impossibleDates(seconds: Double) {
        #expect(throws: InvalidParameters.dateOutOfRange) {
            try ParameterFormat.standard.query(of: ["d": .date(Date(timeIntervalSince1970: seconds))])
        }
    }

    @Test("a space is a plus only in forms, and only when asked for (C4)")
    func spaces() throws {
        let format = format { $0.spaces = .plusInForms }
        #expect(try format.form(of: ["a b": "1 +"]) == Data("a+b=1+%2B".utf8))
        #expect(try format.query(of: ["a b": "1 +"]) == "a%20b=1%20%2B")
        #expect(try ParameterFormat.standard.form(of: ["a b": " "]) == Data("a%20b=%20".utf8))
    }

    @Test("names are sorted by their UTF-8 at every level when asked (C2, AF-13)")
    func order() throws {
        let parameters: RequestParameters = ["é": 1, "b": ["y": 2, "x": 3], "Z": 4, "a": 5]
        #expect(try readable(parameters, format { $0.order = .sorted }) == ["Z=4", "a=5", "b[x]=3", "b[y]=2", "é=1"])
    }

    @Test("a function of one's own writes the whole; what may not stand in a query is escaped (AF-17)")
    func custom() throws {
        let format = ParameterFormat.custom { $0.map { "\($0.name):é %41#" }.joined(separator: ";") }
        let request = api.get(.none, from: "/x").adding(parameters: ["a": 1, "b": 2], in: .query(format))
        #expect(try request.preparedURL() == "https://e.com/api/x?a:%C3%A9%20%41%23;b:%C3%A9%20%41%23")
        #expect(try format.form(of: ["a": 1]) == Data("a:é %41#".utf8))
    }

    @Test(
        "forms are written as browsers write them, queries as the collected libraries do (C1, C3, C5)",
        .enabled(if: Corpora.arePresent, "the case collections are not part of the repository"))
    func corpus() throws {
        let corpus = try #require(Corpora.url)
        func items(_ pairs: [[String]]) -> RequestParameters {
            RequestParameters(QueryItems(pairs.map { QueryItems.Item(name: $0[0], value: $0[1]) }))
        }
        let browser = format { $0.spaces = .plusInForms }
        for item in corpus.urlencodedSerialize {
            let form = try browser.form(of: items(item.pairs))
            #expect(String(decoding: form, as: UTF8.self) == item.serialized)
        }
        var count = 0
        for item in corpus.queryStyles {
            var style = item.style.hasPrefix("alamofire") ? ParameterFormat.alamofire : .standard
            style.order = .given
            style.booleans = .digits
            if item.style.contains("brackets") { style.arrays = .brackets }
            if item.style.contains("indexed") { style.arrays = .indexed }
            var parameters = items(item.pairs ?? [])
            if let nested = item.nested, case .nested(let members) = Self.parameter(nested) { parameters = members }
            // The case that adds to a query is another test's.
            guard !item.style.contains("existing") else { continue }
            #expect(try style.query(of: parameters) == item.query, "\(item.style)")
            count += 1
        }
        #expect(count == corpus.queryStyles.count - 1)
    }

    private static func parameter(_ value: JSONValue) -> ParameterValue {
        switch value {
        case .object(let members): .nested(RequestParameters(members.map { ($0.key, parameter($0.value)) }))
        case .array(let values): .array(values.map(parameter))
        default:
            value.bool.map(ParameterValue.bool) ?? value.int.map(ParameterValue.integer) ?? .string(value.string ?? "")
        }
    }

    @Test("what such a function throws is exactly what surfaces; a control byte in its text is refused (T-29, AF-17)")
    func customErrors() {
        struct Odd: Error, Equatable { var number: Int }
        let failing = ParameterFormat.custom { _ in throw Odd(number: 7) }
        for destination in [ParameterSet.Destination.query(failing), .form(failing)] {
            let error = #expect(throws: RequestError.self) {
                try api.post(.none, to: "/x").adding(parameters: ["a": 1], in: destination).prepared()
            }
            #expect(error?.underlying as? Odd == Odd(number: 7))
            #expect(error?.mayHaveReachedServer == false)
        }
        let broken = ParameterFormat.custom { _ in "a\r\nb" }
        expectInvalid(.parametersNotEncoded) {
            try api.get(.none, from: "/x").adding(parameters: ["a": 1], in: .query(broken)).prepared()
        }
    }

    @Test("a hundred levels are written, a thousand are refused (D-21)")
    func depth() throws {
        func nested(_ levels: Int) -> ParameterValue {
            (0..<levels).reduce(1 as ParameterValue) { value, _ in [value] }
        }
        #expect(try readable(["a": nested(100)]) == ["a=1"])
        #expect(throws: InvalidParameters.tooDeeplyNested) { try readable(["a": nested(1_000)]) }
    }
}

extension RequestBody {
    /// The bytes as text, when the body is bytes of UTF-8.
    var text: String? {
        if case .bytes(let data) = self { String(validating: data, as: UTF8.self) } else { nil }
    }
}
