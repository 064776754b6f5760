@_spi(Lock) import Requests
import RequestsMiddleware
import TestSupport
import Testing

@Suite("Trace context", .serialized, .timeLimit(.minutes(10)))
struct TraceContextTests {
    private static let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test(
        "a valid traceparent is read and written again",
        arguments: [
            (valid, valid), ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", nil),
            // Unknown flags are dropped, and the flags of Level 2 are kept.
            (
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff",
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03"
            ),
            // Later versions may have more parts.
            ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", valid),
            ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-the-future-brings", valid),
            ("fe-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-", valid), (" \(valid)\t", valid),
        ] as [(String, String?)])
    func parsed(text: String, written: String?) throws {
        let context = try #require(TraceContext(traceparent: text))
        #expect(context.traceparent == written ?? text)
        #expect(context.traceID.description == "0af7651916cd43dd8448eb211c80319c")
        #expect(context.spanID == TraceContext.SpanID(value: 0xb7ad_6b71_6920_3331))
    }

    @Test(
        "a malformed traceparent is ignored",
        arguments: [
            "", "00", "-", valid + "-", valid + "0", valid + "-extra", "0" + valid,
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.extra",
            "0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331c-01",
            "00-0af7651916cd43dd8448eb211c80319\u{301}-b7ad6b7169203331-01",
            "00-\u{FF10}af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "\u{0}" + valid, valid + "\n",
            String(repeating: "0", count: 100_000), "00-" + String(repeating: "f", count: 400),
        ])
    func malformed(text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    @Test("a valid traceparent with one byte replaced is never read as another trace")
    func mutated() {
        let bytes = Array(Self.valid.utf8)
        for index in bytes.indices {
            for byte in UInt8.min...(.max) {
                var changed = bytes
                changed[index] = byte
                guard let context = TraceContext(traceparent: String(decoding: changed, as: UTF8.self)) else {
                    continue
                }
                let isDigit = (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
                #expect(isDigit || byte == bytes[index], "\(index): \(byte)")
                if (3..<52).contains(index) { #expect(Array(context.traceparent.utf8)[index] == byte) }
            }
        }
    }

    @Test("a context is read from a header with one traceparent, and a malformed tracestate does not matter")
    func header() {
        let context = TraceContext([
            Field(name: "Traceparent", value: Self.valid), Field(name: "tracestate", value: "a=1"),
            Field(name: "Tracestate", value: "b=2, c=3"),
        ])
        #expect(context?.state.fieldValue == "a=1,b=2,c=3" && context?.isSampled == true)
        let broken = TraceContext([
            Field(name: "traceparent", value: Self.valid), Field(name: "tracestate", value: "a=1,a=2"),
        ])
        #expect(broken != nil && broken?.state.isEmpty == true)
        let twice = Field(name: "traceparent", value: Self.valid)
        #expect(TraceContext([twice, twice]) == nil && TraceContext([]) == nil)
    }

    @Test(
        "a tracestate is read by its grammar",
        arguments: [
            (["congo=t61rcWkgMzE"], "congo=t61rcWkgMzE"), (["a=1", "b=2"], "a=1,b=2"),
            (["a=1, \t b=2 ,"], "a=1,b=2"), ([""], ""), (["a= 1"], "a= 1"), (["0a=1"], "0a=1"),
            (["fw529a3039@dt=FfAB"], "fw529a3039@dt=FfAB"), (["a_-*/=!~"], "a_-*/=!~"),
            (["A=1"], nil), (["a"], nil), (["=1"], nil), (["a="], nil), (["a =1"], nil), (["a=1=2"], nil),
            (["a=\u{E9}"], nil), (["a=1\u{301}"], nil), (["a=\u{7F}"], nil), (["@a=1"], nil), (["a@=1"], nil),
            (["a@1b=1"], nil), (["a@b@c=1"], nil), (["a=1", "a=2"], nil),
            ([String(repeating: "a", count: 257) + "=1"], nil), (["a=" + String(repeating: "b", count: 257)], nil),
            (["a@" + String(repeating: "b", count: 15) + "=1"], nil),
            ([(0..<33).map { "k\($0)=1" }.joined(separator: ",")], nil),
            ([String(repeating: ",", count: 9_000)], nil),
        ] as [([String], String?)])
    func state(values: [String], written: String?) {
        #expect(TraceContext.State(parsing: values)?.fieldValue == written)
    }

    @Test("a changed entry of a tracestate becomes the first, and one beyond the limits is left out")
    func changedState() throws {
        var state = try #require(TraceContext.State(parsing: ["a=1,b=2"]))
        state["b"] = "3"
        #expect(state.fieldValue == "b=3,a=1" && state["a"] == "1")
        state["B"] = "4"
        state["c"] = "with,comma"
        state["a"] = nil
        #expect(state.fieldValue == "b=3")
        for number in 0..<40 { state["k\(number)"] = "1" }
        #expect(state["k39"] == "1" && state["k8"] == "1" && state["k7"] == nil)
        state["long"] = String(repeating: "x", count: 200)
        #expect(state.fieldValue.utf8.count <= 512)
        for number in 0..<32 { state["key\(number)"] = String(repeating: "x", count: 60) }
        let value = state.fieldValue
        #expect(value.utf8.count <= 512 && value.hasPrefix("key31=") && TraceContext.State(parsing: [value]) != nil)
        var wide = TraceContext.State()
        wide["short"] = "1"
        wide["long"] = String(repeating: "x", count: 250)
        for number in 0..<6 { wide["key\(number)"] = String(repeating: "x", count: 60) }
        #expect(wide.fieldValue.hasSuffix(",short=1") && !wide.fieldValue.contains("long"))
    }

    @Test(
        "baggage is read member by member, and malformed members are left out",
        arguments: [
            ("a=1", ["a=1"]), ("a=1,b=2", ["a=1", "b=2"]), (" a = 1 ; p = 2 ; q ,b=2", ["a=1;p = 2;q", "b=2"]),
            ("a=%20x%2C", ["a=%20x%2C"]), ("a=", ["a="]), ("a=b=c", ["a=b=c"]), ("a=1,a=2", ["a=2"]),
            ("a", []), ("=1", []), ("a b=1", []), ("a=1 2", []), ("a=\"1\"", []), ("a=1;=2", []), ("a=\u{E9}", []),
            ("a=1\u{301},b=2", ["b=2"]), ("a\u{301}=1", []), (",,a=1,,", ["a=1"]), ("a=\\", []),
        ])
    func baggage(text: String, members: [String]) {
        let baggage = TraceContext.Baggage([Field(name: "Baggage", value: text)])
        #expect(baggage.fieldValue == (members.isEmpty ? nil : members.joined(separator: ",")))
        #expect(baggage.entries.count == members.count)
    }

    @Test("every value of baggage arrives unchanged, and an invalid key is ignored")
    func baggageValues() {
        var baggage = TraceContext.Baggage()
        for (index, value) in ["", " ", "a,b;c=d", "\"\\%", "Ä\u{301}\u{1F469}\u{200D}", "\r\n\u{0}"].enumerated() {
            baggage["k\(index)"] = value
        }
        baggage["no token"] = "x"
        baggage["k\u{301}"] = "x"
        let field = baggage.fieldValue ?? ""
        #expect(field.utf8.allSatisfy { (0x21...0x7E).contains($0) })
        let read = TraceContext.Baggage([Field(name: "baggage", value: field)])
        #expect(read.entries.map(\.value.utf8.count) == baggage.entries.map(\.value.utf8.count))
        #expect(read["k4"] == baggage["k4"] && read.entries.count == 6)
    }

    @Test("baggage is limited to 64 entries and 8192 bytes in both directions, in linear time")
    func baggageLimits() async throws {
        var baggage = TraceContext.Baggage()
        for number in 0..<100 { baggage["k\(number)"] = String(repeating: "x", count: 200) }
        let value = try #require(baggage.fieldValue)
        #expect(value.utf8.count <= 8192 && value.utf8.count > 7900)
        let many = Field(name: "baggage", value: (0..<1000).map { "k\($0)=1" }.joined(separator: ","))
        #expect(TraceContext.Baggage([many]).entries.count == 64)
        let ratio = try await Growth.ratio { size in
            let header: Header = [Field(name: "baggage", value: String(repeating: "a=1;", count: size))]
            return { _ = TraceContext.Baggage(header) }
        }
        #expect(ratio <= Growth.limit)
    }

    @Test("a context has no ID of zeros, and equal values are equal")
    func ids() {
        let zero = TraceContext.TraceID(high: 0, low: 0)
        let id = TraceContext.TraceID(high: 1, low: 0)
        #expect(TraceContext(traceID: zero, spanID: .init(value: 1)) == nil)
        #expect(TraceContext(traceID: id, spanID: .init(value: 0)) == nil)
        #expect(
            TraceContext(traceID: id, spanID: .init(value: 1)) == TraceContext(traceID: id, spanID: .init(value: 1)))
        #expect(id.description == "0000000000000001" + "0000000000000000")
    }
}
