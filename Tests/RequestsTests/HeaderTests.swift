import Requests
import TestSupport
import Testing

@Suite("Header")
struct HeaderTests {
    private let a = Field(name: "X-A", value: "1")
    private let b = Field(name: "X-B", value: "2")

    @Test("repeated fields are read as one value, joined with commas", .rows("RQ-17", "C8", "T-1", "PM-33"))
    func joining() {
        let header: Header = [.accept(.html), Field(name: "ACCEPT", value: "application/json; charset=utf-8")]
        #expect(header[.accept] == "text/html; charset=utf-8,application/json; charset=utf-8")
        #expect(header.dictionaryValue == ["Accept": "text/html; charset=utf-8,application/json; charset=utf-8"])
        #expect(header.count == 2)
        #expect(header.values(of: "accept").count == 2)
    }

    @Test("Cookie fields are joined with semicolons, and Set-Cookie fields are not joined", .rows("PM-33", "C8"))
    func cookies() {
        let header: Header = [
            Field(name: .cookie, value: "a=1"), Field(name: .setCookie, value: "x=1"),
            Field(name: .cookie, value: "b=2"), Field(name: .setCookie, value: "y=2"),
        ]
        #expect(header[.cookie] == "a=1; b=2" && header.dictionaryValue["Cookie"] == "a=1; b=2")
        for values in [["", "a=1", "", "b=2", ""], ["a=1", "", "", "b=2"], ["a=1; b=2"], ["", "", "a=1; b=2"]] {
            let header = Header(values.map { Field(name: .cookie, value: $0) })
            #expect(header[.cookie] == "a=1; b=2" && header.dictionaryValue["Cookie"] == "a=1; b=2", "\(values)")
        }
        #expect(header[.setCookie] == "x=1")
        #expect(header.values(of: .setCookie) == ["x=1", "y=2"])
    }

    @Test(
        "setting a field replaces all fields of its name and keeps the first one's position and spelling",
        .rows("RQ-17", "T-2"))
    func setting() {
        var header: Header = [Field(name: "Accept", value: "A"), a, Field(name: "accept", value: "C")]
        header.set(Field(name: "ACCEPT", value: "B"))
        #expect(header.map(\.name.rawValue) == ["Accept", "X-A"])
        for name: Field.Name in ["accept", "Accept", "ACCEPT"] { #expect(header[name] == "B") }
        #expect(Field.Name("accept") == "ACCEPT")
        #expect(Field.Name("accept").hashValue == Field.Name("ACCEPT").hashValue)
        header.set(b)
        #expect(header.last == b)
    }

    @Test(
        "setting a subscript to nil removes the field, and removing a missing field has no effect",
        .rows("RQ-17", "T-3", "AF-6"))
    func removing() {
        var header: Header = [a, b, Field(name: "x-a", value: "3")]
        #expect(header["x-b"] == "2" && header["missing"] == nil)
        #expect(header.remove("missing") == nil)
        #expect(header.count == 3)
        #expect(header.remove("x-A") == Field(name: "X-A", value: "1,3"))
        #expect(header == [b])
        header["x-b"] = nil
        #expect(header.isEmpty && header == .empty)
        header["X-C"] = "4"
        #expect(header == [Field(name: "X-C", value: "4")])
    }

    @Test("mutating methods and copying methods give the same header", .rows("RQ-13", "RQ-17"))
    func copies() {
        let header = Header(a, b)
        #expect(header.adding(a) == [a, b, a])
        #expect(header.setting(Field(name: "x-a", value: "9")) == [Field(name: "X-A", value: "9"), b])
        #expect(header.removing("x-A") == [b])
        #expect(header == [a, b])
        #expect(header.contains("x-b") && !header.contains("x-c"))
        #expect(Set([header, Header([a, b])]).count == 1)
        #expect(header != [b, a])
        var other = header
        other.add([a, b])
        other.removeAll { $0.name == "X-A" }
        #expect(other == [b, b])
    }

    @Test("a header made from a dictionary is sorted by name and has one field for each name", .rows("PM-31"))
    func dictionary() {
        #expect(
            Header(["B": "2", "a": "1", "b": "3"]) == [Field(name: "B", value: "3"), Field(name: "a", value: "1")])
        #expect(Header([:] as [String: String]).isEmpty)
    }

    @Test("merging combines values once for each name in both headers, whatever its case", .rows("PM-31"))
    func merging() {
        let other: Header = [
            Field(name: "x-a", value: "3"), Field(name: "X-C", value: "4"), Field(name: "x-c", value: "5"),
        ]
        #expect(Header(a, b).merging(other) { "\($0)+\($1)" }.map(\.value) == ["1+3", "2", "4", "5"])
        #expect(Header(a, b).merging(other) { old, _ in old }["X-A"] == "1")
        #expect(Header(a, a).merging([a, a]) { "\($0)|\($1)" } == [Field(name: "X-A", value: "1,1|1,1")])
    }

    @Test(
        "a field name has a usual spelling", .rows("PM-32"),
        arguments: [
            ("content-type", "Content-Type"), ("WWW-AUTHENTICATE", "WWW-Authenticate"), ("etag", "ETag"),
            ("content-md5", "Content-MD5"), ("te", "TE"), ("dnt", "DNT"), ("x--y-", "X--Y-"), ("", ""),
        ])
    func usualSpelling(name: String, usual: String) {
        #expect(Field.Name(name).usualSpelling == usual)
        #expect(Field.Name(name).usualSpelling == Field.Name(usual).usualSpelling)
    }

    @Test("the description has one line for each field", .rows("RQ-17"))
    func description() {
        #expect("\(Header(a, b))" == "X-A: 1\nX-B: 2")
    }
}

@Suite("Field")
struct FieldTests {
    @Test("field values are case-sensitive, field names are not, and spelling is kept", .rows("RQ-18"))
    func equality() {
        #expect(Field(name: "a", value: "x") == Field(name: "A", value: "x"))
        #expect(Field(name: "a", value: "x") != Field(name: "a", value: "X"))
        #expect("\(Field(name: "x-Y", value: "z"))" == "x-Y: z")
        #expect(Field.Name("x-Y").canonicalName == "x-y")
    }

    @Test("a switch over strings can match field names", .rows("RQ-18"))
    func matching() {
        #expect(Field.Name.contentType ~= "content-TYPE")
        #expect(!(Field.Name.contentType ~= "content-type "))
    }

    @Test("predefined fields have their names and values", .rows("RQ-18"))
    func predefined() {
        #expect(Field.contentType(.json) == Field(name: "Content-Type", value: "application/json"))
        #expect(Field.accept(.png) == Field(name: "Accept", value: "image/png"))
        #expect(Field.acceptLanguage("en") == Field(name: "Accept-Language", value: "en"))
    }

    @Test("bytes that are not UTF-8 are decoded as ISO-8859-1 without loss", .rows("R-23"))
    func valueBytes() {
        let latin = Field(name: "X", valueBytes: [0x61, 0xE9])
        #expect(latin.value == "aé")
        #expect(latin.valueBytes == [0x61, 0xE9])
        let utf8 = Field(name: "X", valueBytes: Array("aé".utf8))
        #expect(utf8.value == "aé")
        #expect(utf8.valueBytes == Array("aé".utf8))
    }

    @Test("case folding applies only to A to Z, whatever the locale", .rows("RQ-19"))
    func folding() {
        #expect(CaseInsensitiveString("AZaz09-@[`{") == "azAZ09-@[`{")
        #expect(CaseInsensitiveString("@") != "`")
        #expect(CaseInsensitiveString("[") != "{")
        #expect(CaseInsensitiveString("İ") != "i")
        #expect(CaseInsensitiveString("É") != "é")
        #expect(CaseInsensitiveString("K") != "\u{212A}")
        #expect(CaseInsensitiveString("B") > "a")
        #expect(CaseInsensitiveString("aB").description == "aB")
        #expect(Set<CaseInsensitiveString>(["aB", "Ab", "ab"]).count == 1)
    }
}
