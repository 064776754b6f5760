import Requests
import TestCorpora
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

private func readable(
    _ parameters: RequestParameters, _ format: RequestParameters.Format = .standard
) throws -> [String] {
    try format.items(of: parameters).map { item in item.value.map { "\(item.name)=\($0)" } ?? item.name }
}

private func format(_ change: (inout RequestParameters.Format) -> Void) -> RequestParameters.Format {
    var format = RequestParameters.Format.standard
    change(&format)
    return format
}

@Suite("RequestParameters.Format")
struct ParameterFormatTests {
    static let awkward: RequestParameters = [
        "foo": "bar", "key": "value + space", " +&=": " +&=", "*-.azAZ09_": "*-.azAZ09_", "!@?;~": "%",
    ]
    static let awkwardText =
        "foo=bar&key=value%20%2B%20space&%20%2B%26%3D=%20%2B%26%3D&*-.azAZ09_=*-.azAZ09_&%21%40%3F%3B%7E=%25"

    @Test(
        "unusual names and values are encoded alike in a query and in a form",
        .rows("T-20", "PM-43", "PF-8", "C3", "D-6"))
    func escaping() throws {
        let query = api.get(.none, from: "/x").adding(parameters: Self.awkward)
        #expect(try query.preparedURL() == "https://e.com/api/x?" + Self.awkwardText)
        let form = try api.post(.form(parameters: Self.awkward), to: "/x").prepared()
        #expect(form.body.text == Self.awkwardText)
        #expect(form.header[.contentType] == "application/x-www-form-urlencoded")
    }

    @Test("an array repeats its name", .rows("T-21", "C1", "D-1"))
    func array() throws {
        #expect(try readable(["array": ["one", 2, true]]) == ["array=one", "array=2", "array=true"])
    }

    @Test("nested names are written in brackets, and a Dictionary is sorted by name", .rows("T-22", "PM-41", "C2"))
    func nesting() throws {
        let members: [String: RequestParameters.Value] = ["two": "something", "one": 1]
        let parameters = RequestParameters(["foo": "foo", "bar": 42, "dict": .dictionary(members)])
        #expect(try readable(parameters) == ["bar=42", "dict[one]=1", "dict[two]=something", "foo=foo"])
        #expect(try readable(["z": 1, "a": ["y": 2, "b": 3]]) == ["z=1", "a[y]=2", "a[b]=3"])
    }

    @Test("brackets at the end of a nested name follow its own brackets", .rows("T-23", "PM-41"))
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

    @Test("nested items keep their names, even without a value", .rows("T-24", "PM-41"))
    func items() throws {
        let parameters: RequestParameters = [
            "foo": .item("bar", "baz"), "qux": .item("quux", nil),
            "array": [.item("wat[]", "one"), .item("frob", "grably")],
        ]
        #expect(try readable(parameters) == ["foo[bar]=baz", "qux[quux]", "array[wat][]=one", "array[frob]=grably"])
    }

    @Test(
        "arrays are written in one of four styles, and empty arrays are omitted", .rows("C1", "AF-12", "AF-15", "D-1"),
        arguments: [
            (RequestParameters.Format.ArrayStyle.repeated, ["k=1", "k=", "d[a]=x", "d[b]=y", "e[f]=1"]),
            (.brackets, ["k[]=1", "k[]=", "d[][a]=x", "d[][b]=y", "e[f][]=1"]),
            (.indexed, ["k[0]=1", "k[1]=", "d[0][a]=x", "d[1][b]=y", "e[f][0]=1"]),
            (.joined(by: "|"), ["k=1|", "d[a]=x", "d[b]=y", "e[f]=1"]),
        ])
    func arrayStyles(style: RequestParameters.Format.ArrayStyle, expected: [String]) throws {
        let parameters: RequestParameters = [
            "k": [1, ""], "d": [["a": "x"], ["b": "y"]], "e": ["f": [1]], "none": [], "empty": [:],
        ]
        #expect(try readable(parameters, format { $0.arrays = style }) == expected)
    }

    @Test(
        "the AFNetworking format has brackets, digits, and sorted names",
        .rows("AF-12", "AF-13", "AF-14", "AF-15", "AF-16", "C5", "T-27")
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
        #expect(try RequestParameters.Format.afnetworking.query(of: plain) == "key=value&key1=value%26")
        #expect(
            try RequestParameters.Format.afnetworking.query(of: ["q": ":#[]@!$&'()*+,;=?/"])
                == "q=%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D?/")
        #expect(try RequestParameters.Format.rfc3986.query(of: ["q": "~?"]) == "q=~%3F")
        #expect(try RequestParameters.Format.alamofire.query(of: ["a": [1]]) == "a%5B%5D=1")
    }

    @Test("null is written as a bare name, as an empty value or not at all", .rows("C6", "PM-42", "AF-15"))
    func nulls() throws {
        let parameters: RequestParameters = ["a": nil, "b": "", "c": [nil, 1]]
        #expect(try readable(parameters) == ["a", "b=", "c", "c=1"])
        #expect(try readable(parameters, format { $0.nulls = .emptyValue }) == ["a=", "b=", "c=", "c=1"])
        #expect(try readable(parameters, format { $0.nulls = .dropped }) == ["b=", "c=1"])
    }

    @Test("booleans are written as words or digits, and numbers as Swift prints them", .rows("C5", "PM-42"))
    func scalars() throws {
        let parameters: RequestParameters = [
            "t": true, "n": -1, "u": .unsigned(.max), "d": 2.5, "b": .data(Data([0xFF])),
        ]
        #expect(try readable(parameters) == ["t=true", "n=-1", "u=18446744073709551615", "d=2.5", "b=/w=="])
        #expect(try readable(["t": true, "f": false], format { $0.booleans = .digits }) == ["t=1", "f=0"])
    }

    @Test("dates are written in UTC, as seconds, as milliseconds or in a custom form")
    func dates() throws {
        let parameters: RequestParameters = ["d": .date(Date(timeIntervalSince1970: 1.5))]
        let whole: RequestParameters = ["d": .date(Date(timeIntervalSince1970: 86_400))]
        #expect(try readable(whole) == ["d=1970-01-02T00:00:00Z"])
        #expect(try readable(parameters, format { $0.dates = .secondsSince1970 }) == ["d=1.5"])
        #expect(try readable(whole, format { $0.dates = .secondsSince1970 }) == ["d=86400"])
        #expect(try readable(parameters, format { $0.dates = .millisecondsSince1970 }) == ["d=1500"])
        #expect(try readable(parameters, format { $0.dates = .custom { _ in "now" } }) == ["d=now"])
    }

    @Test("a date out of range is rejected", arguments: [Double.nan, .infinity, -.infinity, 1e15, -1e15])
    func impossibleDates(seconds: Double) {
        #expect(throws: RequestParameters.ParameterError.dateOutOfRange) {
            try RequestParameters.Format.standard.query(of: ["d": .date(Date(timeIntervalSince1970: seconds))])
        }
    }

    @Test("a space is written as a plus only in forms and only on request", .rows("C4"))
    func spaces() throws {
        let format = format { $0.spaces = .plusInForms }
        #expect(try format.form(of: ["a b": "1 +"]) == Data("a+b=1+%2B".utf8))
        #expect(try format.query(of: ["a b": "1 +"]) == "a%20b=1%20%2B")
        #expect(try RequestParameters.Format.standard.form(of: ["a b": " "]) == Data("a%20b=%20".utf8))
    }

    @Test("names are sorted by their UTF-8 at every level on request", .rows("C2", "AF-13"))
    func order() throws {
        let parameters: RequestParameters = ["é": 1, "b": ["y": 2, "x": 3], "Z": 4, "a": 5]
        #expect(try readable(parameters, format { $0.order = .sorted }) == ["Z=4", "a=5", "b[x]=3", "b[y]=2", "é=1"])
    }

    @Test(
        "a custom format writes the whole text, and characters not allowed in a query are percent-encoded",
        .rows("AF-17"))
    func custom() throws {
        let format = RequestParameters.Format.custom { $0.map { "\($0.name):é %41#" }.joined(separator: ";") }
        let request = api.get(.none, from: "/x").adding(parameters: ["a": 1, "b": 2], in: .query(format))
        #expect(try request.preparedURL() == "https://e.com/api/x?a:%C3%A9%20%41%23;b:%C3%A9%20%41%23")
        #expect(try format.form(of: ["a": 1]) == Data("a:é %41#".utf8))
    }

    @Test(
        "forms are written as in browsers, and queries as in the collected libraries", .rows("C1", "C3", "C5"),
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
            var style = item.style.hasPrefix("alamofire") ? RequestParameters.Format.alamofire : .standard
            style.order = .given
            style.booleans = .digits
            if item.style.contains("brackets") { style.arrays = .brackets }
            if item.style.contains("indexed") { style.arrays = .indexed }
            var parameters = items(item.pairs ?? [])
            if let nested = item.nested, case .nested(let members) = Self.parameter(nested).content {
                parameters = members
            }
            // Another test covers the case that adds to a query.
            guard !item.style.contains("existing") else { continue }
            #expect(try style.query(of: parameters) == item.query, "\(item.style)")
            count += 1
        }
        #expect(count == corpus.queryStyles.count - 1)
    }

    private static func parameter(_ value: JSONValue) -> RequestParameters.Value {
        switch value {
        case .object(let members): .nested(RequestParameters(members.map { ($0.key, parameter($0.value)) }))
        case .array(let values): .array(values.map(parameter))
        default:
            value.bool.map(RequestParameters.Value.bool) ?? value.int.map(RequestParameters.Value.integer)
                ?? .string(value.string ?? "")
        }
    }

    @Test(
        "a custom format's error is the underlying error, and control characters are rejected", .rows("T-29", "AF-17")
    )
    func customErrors() {
        struct Odd: Error, Equatable { var number: Int }
        let failing = RequestParameters.Format.custom { _ in throw Odd(number: 7) }
        for destination in [ParameterSet.Destination.query(failing), .form(failing)] {
            let error = #expect(throws: RequestError.self) {
                try api.post(.none, to: "/x").adding(parameters: ["a": 1], in: destination).prepared()
            }
            #expect(error?.underlying as? Odd == Odd(number: 7))
            #expect(error?.mayHaveReachedServer == false)
        }
        let broken = RequestParameters.Format.custom { _ in "a\r\nb" }
        expectInvalid(.parametersNotEncoded) {
            try api.get(.none, from: "/x").adding(parameters: ["a": 1], in: .query(broken)).prepared()
        }
    }

    @Test("a hundred levels of nesting are written, and a thousand are rejected", .rows("R-75"))
    func depth() throws {
        func nested(_ levels: Int) -> RequestParameters.Value {
            (0..<levels).reduce(1 as RequestParameters.Value) { value, _ in [value] }
        }
        #expect(try readable(["a": nested(100)]) == ["a=1"])
        #expect(throws: RequestParameters.ParameterError.tooDeeplyNested) { try readable(["a": nested(1_000)]) }
    }
}

extension RequestBody {
    /// The text of a body in memory, or nil if it is not UTF-8 or not in memory.
    var text: String? {
        if case .bytes(let data) = self { String(validating: data, as: UTF8.self) } else { nil }
    }
}
