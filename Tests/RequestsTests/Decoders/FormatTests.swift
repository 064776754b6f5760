import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

@Suite("Format decoders")
struct FormatTests {
    struct User: Codable, Equatable {
        var userName: String
        var since: Date
    }

    static func stub(_ body: String, type: String? = "application/json", status: HTTPStatus = 200) -> StubExecutor {
        StubExecutor(status, header: type.map { [Field(name: .contentType, value: $0)] } ?? [], body)
    }

    @Test("JSON is decoded with strategies for dates and keys", .rows("PM-61"))
    func strategies() async throws {
        let executor = Self.stub("{\"user_name\": \"a\", \"since\": \"1994-11-06T08:49:37.5+01:00\"}")
        let user = try await executor.perform(
            api.get(.json(User.self, dates: .flexibleISO8601, keys: .convertFromSnakeCase), from: "/u"))
        #expect(user == User(userName: "a", since: Date(timeIntervalSince1970: 784_108_177.5)))
        let keyed = try await Self.stub("{\"a_b\": 1}").perform(
            api.get(.json([String: Int].self, keys: .useDefaultKeys), from: "/u"))
        #expect(keyed == ["a_b": 1])
    }

    @Test(
        "ISO 8601 dates are decoded in the forms that servers use",
        arguments: [
            ("1994-11-06T08:49:37Z", 784_111_777), ("1994-11-06t08:49:37.250z", 784_111_777.25),
            ("1994-11-06 08:49:37", 784_111_777), ("1994-11-06T09:49:37+01:00", 784_111_777),
            ("1994-11-06T07:19:37-0130", 784_111_777), ("1994-11-06T10:49:37+02", 784_111_777),
            ("19941106T084937Z", 784_111_777), ("1994-11-06T08:49Z", 784_111_740), ("1994-11-06", 784_080_000),
            ("1994-11-06T08:49:37,123456789123456789Z", 784_111_777.123456789), ("1994-11-06T24:00:00Z", 784_166_400),
            ("1969-12-31T23:59:59Z", -1), ("0000-01-01", -62_167_219_200), ("1994-02-29", nil), ("1994-13-01", nil),
            ("1994-11-06T", nil), ("1994-11-06T25:00:00Z", nil), ("1994-11-06T08:49:37.Z", nil),
            ("1994-11-06T08:49:37+1", nil), ("1994-1106", nil), ("94-11-06", nil), ("", nil), ("soon", nil),
            ("1994-11-06T08:49:37Zx", nil), ("1994-11-06T24:00:01Z", nil),
        ] as [(String, Double?)])
    func dates(text: String, seconds: Double?) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .flexibleISO8601
        let date = try? decoder.decode([Date].self, from: JSONEncoder().encode([text])).first
        #expect(date?.timeIntervalSince1970 == seconds)
    }

    @Test(
        "JSON is decoded under the content types that servers use and rejected under others",
        .rows("AF-53", "PF-7", "T-33", "T-73", "D-15")
    )
    func types() async throws {
        let request = api.get(.json([String: Int].self), from: "/x")
        for type in ["application/json", "text/json", "text/javascript", "application/problem+json", nil] {
            #expect(try await Self.stub("{\"a\":1}", type: type).perform(request) == ["a": 1])
        }
        for type in ["nonstandard/json", "text/html"] {
            let error = await #expect(throws: RequestError.self) {
                try await Self.stub("{\"a\":1}", type: type).perform(request)
            }
            #expect(error?.reason == .unexpectedContentType && error?.body == Data("{\"a\":1}".utf8))
        }
        let lenient = api.get(ResponseDecoder.json([String: Int].self).accepting([]), from: "/x")
        #expect(try await Self.stub("{\"a\":1}", type: "text/plain").perform(lenient) == ["a": 1])
        let empty = await #expect(throws: RequestError.self) {
            try await Self.stub("", type: "text/html", status: 204).perform(request)
        }
        #expect(empty?.reason == .unexpectedNoContent)
    }

    @Test(
        "an optional decoder returns nil for an empty body, for white space and for a 204",
        .rows("AF-53", "C13", "T-73"))
    func optional() async throws {
        let request = api.get(.optional(.json([String: Int].self)), from: "/x")
        for body in ["", " ", " \r\n"] { #expect(try await Self.stub(body).perform(request) == nil) }
        #expect(try await Self.stub("", type: nil, status: 204).perform(request) == nil)
        #expect(try await Self.stub("{\"a\":1}").perform(request) == ["a": 1])
        #expect(try request.prepared().header[.accept] == "application/json")
        await #expect(throws: RequestError.self) { try await Self.stub("x").perform(request) }
    }

    @Test("a 204 is a result of an action, and getting its value is an error", .rows("PM-62", "T-34"))
    func actions() async throws {
        let request = api.post(.none, to: "/x", receiving: .action(.json([Int].self)))
        let nothing = try await Self.stub("", type: nil, status: 204).perform(request)
        #expect(nothing.value == nil && nothing.head.status == 204)
        let error = #expect(throws: RequestError.self) { try nothing.get() }
        #expect(error?.reason == .unexpectedNoContent && error?.status == 204)
        let something = try await Self.stub("[1]", status: 201).perform(request)
        #expect(try something.get() == [1] && something.map(\.count).value == 1 && something.head.status == 201)
        #expect(something != nothing && nothing.map(\.count).value == nil)
        let get = await #expect(throws: RequestError.self) {
            try await Self.stub("", type: nil, status: 204).perform(api.get(.json([Int].self), from: "/x"))
        }
        #expect(get?.reason == .unexpectedNoContent)
    }

    @Test("the first decoder that accepts the content type and succeeds decodes the body", .rows("AF-61"))
    func compound() async throws {
        let numbers = ResponseDecoder.json([Int].self).map { $0.map(String.init).joined(separator: "+") }
        let text = ResponseDecoder<String>(accepting: [.plainText]) { _, data in String(decoding: data, as: UTF8.self) }
        let request = api.get(numbers.or(text), from: "/x")
        #expect(try await Self.stub("[1,2]").perform(request) == "1+2")
        #expect(try await Self.stub("[1,2]", type: "text/plain").perform(request) == "[1,2]")
        #expect(try await Self.stub("x", type: nil).perform(request) == "x")
        #expect(try request.prepared().header[.accept] == "application/json, text/plain;charset=utf-8;q=0.9")
        let both = api.get(.firstOf([numbers, .json()]), from: "/x")
        #expect(try await Self.stub("\"s\"").perform(both) == "s")
        let error = await #expect(throws: RequestError.self) { try await Self.stub("{}").perform(both) }
        #expect(error?.reason == .decodingFailed && error?.underlying is DecodingError)
        let none = await #expect(throws: RequestError.self) {
            try await Self.stub("1").perform(api.get(.firstOf([] as [ResponseDecoder<Int>]), from: "/x"))
        }
        #expect(none?.reason == .decodingFailed)
        let raw = api.get(numbers.map { Data($0.utf8) }.or(.data), from: "/x")
        #expect(try await Self.stub("?", type: "a/b").perform(raw) == Data("?".utf8))
    }

    @Test("map changes only the value of a decoder, and an error in it is a decoding error", .rows("PM-63"))
    func mapping() async throws {
        struct Refused: Error {}
        let decoder = ResponseDecoder.json([Int].self).map { numbers in
            guard let first = numbers.first else { throw Refused() }
            return first
        }
        #expect(try await Self.stub("[7]").perform(api.get(decoder, from: "/x")) == 7)
        let error = await #expect(throws: RequestError.self) {
            try await Self.stub("[]").perform(api.get(decoder, from: "/x"))
        }
        #expect(error?.reason == .decodingFailed && error?.underlying is Refused && error?.body == Data("[]".utf8))
        #expect(decoder.acceptedTypes == [.json] && decoder.accepting([.png]).acceptedTypes == [.png])
        let (value, head) = try await Self.stub("[7]", status: 201).perform(api.get(decoder.withHead, from: "/x"))
        #expect(value == 7 && head.status == 201)
        let total = ResponseDecoder.json([Int].self).map(withHead: { "\($0)/\($1.header["X-Total"] ?? "?")" })
        #expect(
            try await StubExecutor(200, header: [Field(name: "X-Total", value: "9")], "[1]").perform(
                api.get(total, from: "/")) == "[1]/9")
        #expect(
            try await StubExecutor(200, header: [Field(name: "A", value: "b")]).perform(api.get(.header, from: "/"))[
                "a"] == "b")
        #expect(try await StubExecutor(201).perform(api.get(.head, from: "/")).status == 201)
    }

    @Test("XML and binary property lists are decoded, and an optional decoder returns nil for a 204", .rows("AF-57"))
    func propertyLists() async throws {
        let value = ["a": [1, 2]]
        let request = api.get(.propertyList([String: [Int]].self), from: "/x")
        for format in [PropertyListDecoder.PropertyListFormat.xml, .binary] {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = format
            let data = try encoder.encode(value)
            let executor = StubExecutor { request in
                let head = ResponseHead(
                    status: 200, header: [Field(name: "Content-Type", value: "application/x-plist")],
                    target: request.target)
                return RawResponse(head: head, body: .bytes(data))
            }
            #expect(try await executor.perform(request) == value)
        }
        let optional = api.get(.optional(.propertyList([Int].self)), from: "/x")
        #expect(try await StubExecutor(204).perform(optional) == nil)
        let error = await #expect(throws: RequestError.self) { try await StubExecutor(200).perform(request) }
        #expect(error?.reason == .unexpectedNoContent)
    }

    @Test(
        "dynamic JSON is decoded, optionally to nil for no body, and truncated JSON is a syntax error", .rows("HT-34"))
    func dynamic() async throws {
        let request = api.get(.jsonValue, from: "/x")
        #expect(try await Self.stub("{\"a\":[1]}").perform(request)["a", 0] == 1)
        let error = await #expect(throws: RequestError.self) { try await Self.stub("{\"a\":").perform(request) }
        #expect((error?.underlying as? JSONValue.SyntaxError)?.problem == .truncated)
        let optional = api.get(.optional(ResponseDecoder<JSONValue>.jsonValue), from: "/x")
        let nothing: JSONValue? = try await Self.stub("").perform(optional)
        #expect(nothing.map(\.description) == nil)
        let something: JSONValue? = try await Self.stub("[1]").perform(optional)
        #expect(something.map(\.description) == "[1]")
    }

    @Test("images are recognized by their first bytes and need the content type of an image", .rows("AF-60", "PM-64"))
    func images() async throws {
        let beginnings: [(ImageBytes.Format, [UInt8])] = [
            (.png, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0]), (.jpeg, [0xFF, 0xD8, 0xFF, 0xE0]),
            (.gif, Array("GIF89a".utf8)), (.tiff, [0x49, 0x49, 0x2A, 0]), (.tiff, [0x4D, 0x4D, 0, 0x2A]),
            (.bmp, Array("BM".utf8)), (.icon, [0, 0, 1, 0]), (.xBitmap, Array("#define x".utf8)),
            (.webp, Array("RIFF....WEBP".utf8)), (.avif, Array("....ftypavif".utf8)),
            (.heic, Array("....ftypheic".utf8)),
        ]
        for (format, bytes) in beginnings { #expect(ImageBytes(Data(bytes))?.format == format) }
        for text in ["", "P", "GIF", "RIFF....WAVE", "....ftypmp42", "<svg"] {
            #expect(ImageBytes(Data(text.utf8)) == nil)
        }
        let request = api.get(.image, from: "/x")
        #expect(try await Self.stub("GIF89a", type: "image/png").perform(request).format == .gif)
        for subtype in ["tiff", "jpeg", "gif", "ico", "x-icon", "bmp", "x-bmp", "x-xbitmap", "x-win-bitmap"] {
            #expect(try await Self.stub("GIF89a", type: "image/\(subtype)").perform(request).format == .gif)
        }
        for (body, type, reason) in [
            ("GIF89a", "text/html", RequestError.Reason.unexpectedContentType),
            ("GIF89a", "image/jxl", .unexpectedContentType),
            ("<html>", "image/png", .decodingFailed), ("", "image/png", .unexpectedNoContent),
        ] {
            let error = await #expect(throws: RequestError.self) {
                try await Self.stub(body, type: type).perform(request)
            }
            #expect(error?.reason == reason)
        }
    }
}
