import Requests
import TestCorpora
import TestSupport
import Testing

@Suite("MediaType")
struct MediaTypeTests {
    @Test(
        "a media type is parsed as in RFC 9110 §8.3.1", .rows("RQ-21", "PM-67"),
        arguments: [
            ("text/html", "text/html"), ("Text/HTML;Charset=\"utf-8\"", "Text/HTML; Charset=utf-8"),
            (" text/html ; a=b ;c=d ", "text/html; a=b; c=d"), ("*/*", "*/*"), ("image/*;q=0.1", "image/*; q=0.1"),
            ("a/b; c=\"d\\\"e\\\\f\"", "a/b; c=\"d\\\"e\\\\f\""), ("a/b;c=\"\"", "a/b; c=\"\""),
            ("a/b;c=\"x;y\";d=e", "a/b; c=\"x;y\"; d=e"), ("a/b;c", "a/b"), ("a/b;c=;d=e", "a/b; d=e"),
            ("a/b;;d=e", "a/b; d=e"), ("a/b;c=x y;d=e", "a/b; c=\"x y\"; d=e"), ("a/b;c=\"x\" y;d=e", "a/b; c=x; d=e"),
            ("a/b;c=\"open", "a/b; c=open"), ("a/b;c=1;C=2", "a/b; c=1"), ("a/b;c =d;e=f", "a/b; e=f"),
            ("a/b;c=x\u{1}y", "a/b"), ("application/vnd.api+json", "application/vnd.api+json"),
        ])
    func parsing(text: String, printed: String) throws {
        let type = try #require(MediaType(text))
        #expect(type.rawValue == printed)
        #expect(try #require(MediaType(printed)).rawValue == printed)
    }

    @Test(
        "text that is not a media type is rejected", .rows("RQ-21"),
        arguments: [
            "", "/", "text", "text/", "/html", "text /html", "text/ html", "te xt/html", "text/html x", "tex\u{0}t/a",
        ])
    func refused(text: String) {
        #expect(MediaType(text) == nil)
    }

    @Test("a media type is encoded as its text, and other text is a decoding error", .rows("RQ-21"))
    func coding() throws {
        let types: [MediaType] = [.json, .plainText, "multipart/mixed; boundary=\"a b\"", .any]
        let data = try JSONEncoder().encode(types)
        let texts = try JSONDecoder().decode([String].self, from: data)
        #expect(texts == types.map(\.rawValue))
        #expect(try JSONDecoder().decode([MediaType].self, from: data).map(\.rawValue) == texts)
        for text in ["\"text\"", "\"\"", "\"text/\\u0000\"", "1", "{\"type\": \"text\"}"] {
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(MediaType.self, from: Data(text.utf8)) }
        }
    }

    @Test("equality ignores case and parameters, and parameters are kept", .rows("RQ-21", "C28"))
    func equality() {
        #expect(MediaType.json == .jsonUTF8)
        #expect(MediaType.json.hashValue == MediaType.jsonUTF8.hashValue)
        #expect(MediaType.init("TEXT/plain") == .plainText)
        #expect(MediaType.json != .xml)
        #expect(MediaType.plainText.parameters["CHARSET"] == "utf-8")
        #expect(MediaType.json.parameters["charset"] == nil)
    }

    @Test(
        "a media range matches the types within it", .rows("C28"),
        arguments: [
            (MediaType.any, MediaType.png, true), (MediaType(type: .image, subtype: .any), .png, true),
            (MediaType(type: .image, subtype: .any), .json, false), (.png, .png, true), (.png, .gif, false),
            (.png, MediaType(type: .image, subtype: .any), false),
        ])
    func ranges(range: MediaType, type: MediaType, matches: Bool) {
        #expect(range.matches(type) == matches)
    }

    @Test(
        "a JSON decoder accepts every JSON type and no other type (RFC 6839 §3.1)",
        arguments: [
            ("application/json; charset=utf-8", true), ("text/json", true), ("application/problem+json", true),
            ("application/vnd.x+JSON", true), ("application/jsonp", false), ("text/plain", false),
            ("application/json-seq", false), ("application/geo-json", false), ("application/x-ndjson", false),
            ("text/html", false),
        ])
    func json(text: String, reads: Bool) throws {
        #expect(MediaType.json.reads(try #require(MediaType(text))) == reads)
    }

    @Test(
        "the constants print as in Requests 0.3.2, except that JSON has no charset", .rows("RQ-21", "C10"),
        arguments: [
            (MediaType.json, "application/json"), (.jsonUTF8, "application/json; charset=utf-8"),
            (.xml, "application/xml; charset=utf-8"),
            (.urlEncodedForm, "application/x-www-form-urlencoded; charset=utf-8"),
            (.plainText, "text/plain; charset=utf-8"), (.html, "text/html; charset=utf-8"),
            (.css, "text/css; charset=utf-8"), (.binary, "application/octet-stream"), (.gif, "image/gif"),
            (.png, "image/png"), (.jpeg, "image/jpeg"), (.svg, "image/svg+xml"),
            (.formData(boundary: "a b"), "multipart/form-data; boundary=\"a b\""),
            (.formData(boundary: "a\"b\\"), "multipart/form-data; boundary=\"a\\\"b\\\\\""),
        ])
    func constants(type: MediaType, text: String) {
        #expect(type.rawValue == text)
        #expect(MediaType(text)?.rawValue == text)
    }

    @Test(
        "valid types are parsed as by a WHATWG parser",
        .enabled(if: Corpora.arePresent, "the case collections are not part of the repository"))
    func corpus() throws {
        let cases = try #require(Corpora.mimeTypes)
        // A field value contains no line end, so cases with one are skipped.
        for item in cases.cases where !item.input.contains(where: \.isNewline) {
            guard let serialized = item.serialized else { continue }
            let expected = try #require(MediaType(serialized))
            let type = try #require(MediaType(item.input), "\(item.input)")
            #expect(type == expected, "\(item.input)")
            #expect(type.parameters["charset"] == expected.parameters["charset"], "\(item.input)")
        }
        for item in cases.cases where item.serialized == nil {
            #expect(MediaType(item.input) == nil, "\(item.input)")
        }
    }
}
