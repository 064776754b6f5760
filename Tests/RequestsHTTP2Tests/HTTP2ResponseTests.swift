import Requests
import RequestsHTTP2
import TestSupport
import Testing

@Suite("HTTP/2: responses")
struct HTTP2ResponseTests {
    /// What a server sends on stream 1, and the events; the last one is a reset for a malformed response.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let log: [String]
        var violation: HTTP2Violation?
        var isHead = false

        init(
            _ name: String, _ bytes: [UInt8], _ log: [String] = [], violates violation: HTTP2Violation? = nil,
            isHead: Bool = false
        ) {
            testDescription = name
            self.bytes = bytes
            self.log = log + (violation.map { ["1 reset \($0.code)"] } ?? [])
            self.violation = violation
            self.isHead = isHead
        }
    }

    private static func head(
        _ fields: [(String, String)], status: String = "200", ends: Bool = true
    ) -> [UInt8] {
        WireFrame.headers(Block.status(status, fields), on: 1, ends: ends)
    }

    /// A head whose only fields are these.
    private static func only(_ fields: [(String, String)]) -> [UInt8] {
        WireFrame.headers(Block.of(fields), on: 1, ends: true)
    }

    static let fields: [Row] =
        FieldTable.valid.map { Row($0.name, head([$0.field]), ["1 head 200", "1 ended"]) }
        + FieldTable.malformed.map { Row($0.name, head([$0.field]), violates: $0.violation) }
        + FieldTable.malformed.map {
            Row(
                "\($0.name) in trailers",
                head([], ends: false) + WireFrame.headers(Block.of([$0.field]), on: 1, ends: true),
                ["1 head 200"], violates: $0.violation)
        }

    static let statuses: [Row] = [
        Row("the status 999", head([], status: "999"), ["1 head 999", "1 ended"]),
        Row("no status", only([("a", "b")]), violates: .missingPseudoField),
        Row("no field at all", only([]), violates: .missingPseudoField),
        Row("two statuses", only([(":status", "200"), (":status", "200")]), violates: .pseudoField),
        Row("a late status", only([("a", "b"), (":status", "200")]), violates: .pseudoField),
        Row("an unknown pseudo-field", only([(":status", "200"), (":version", "2")]), violates: .pseudoField),
        Row("the pseudo-field of a request", only([(":status", "200"), (":path", "/")]), violates: .pseudoField),
        Row("an upper-case pseudo-field", only([(":status", "200"), (":Status", "200")]), violates: .pseudoField),
        Row("an empty pseudo-field", only([(":status", "200"), (":", "200")]), violates: .pseudoField),
        Row("the status 101", head([], status: "101"), violates: .switchingProtocols),
        Row("the status 99", head([], status: "99"), violates: .pseudoField),
        Row("the status 099", head([], status: "099"), violates: .pseudoField),
        Row("the status 2000", head([], status: "2000"), violates: .pseudoField),
        Row("the status +20", head([], status: "+20"), violates: .pseudoField),
        Row("the status 2x0", head([], status: "2x0"), violates: .pseudoField),
        Row("the status ２００", head([], status: "２００"), violates: .pseudoField),
        Row("an empty status", head([], status: ""), violates: .pseudoField),
        Row("a control character in the status", only([(":status", "20\0")]), violates: .fieldValue),
        Row("a space after the status", only([(":status", "200 ")]), violates: .fieldValue),
    ]

    private static func length(_ value: String, _ body: Int, _ log: [String], status: String = "200") -> [UInt8] {
        head([("content-length", value)], status: status, ends: false)
            + WireFrame.data([UInt8](repeating: 7, count: body), on: 1, ends: true)
    }

    static let lengths: [Row] = [
        Row("the announced length", length("5", 5, []), ["1 head 200", "1 data", "1 ended"]),
        Row("the length 0", length("0", 0, []), ["1 head 200", "1 ended"]),
        Row("the length 0 with the head", head([("content-length", "0")]), ["1 head 200", "1 ended"]),
        Row(
            "no length", head([], ends: false) + WireFrame.data([1], on: 1, ends: true),
            ["1 head 200", "1 data", "1 ended"]),
        Row(
            "the same length twice", head([("content-length", "0"), ("content-length", "0")]),
            ["1 head 200", "1 ended"]),
        Row("zeros before a length", length("005", 5, []), ["1 head 200", "1 data", "1 ended"]),
        Row("too few bytes", length("5", 4, []), ["1 head 200"], violates: .bodyLength),
        Row("too many bytes", length("5", 6, []), ["1 head 200"], violates: .bodyLength),
        Row("a length and no body", head([("content-length", "5")]), violates: .bodyLength),
        Row(
            "two lengths", head([("content-length", "5"), ("content-length", "6")], ends: false),
            violates: .contentLength),
        Row("a sign", head([("content-length", "+5")], ends: false), violates: .contentLength),
        Row("a negative length", head([("content-length", "-1")], ends: false), violates: .contentLength),
        Row("an empty length", head([("content-length", "")], ends: false), violates: .contentLength),
        Row("a list", head([("content-length", "5, 5")], ends: false), violates: .contentLength),
        Row(
            "the length 2^63", head([("content-length", "9223372036854775808")], ends: false), violates: .contentLength),
        Row(
            "400 digits", head([("content-length", String(repeating: "9", count: 400))], ends: false),
            violates: .contentLength),
        Row(
            "the length 2^63 - 1", length("9223372036854775807", 1, []), ["1 head 200"], violates: .bodyLength),
        Row("204 with a length", head([("content-length", "5")], status: "204"), ["1 head 204", "1 ended"]),
        Row("304 with a length", head([("content-length", "5")], status: "304"), ["1 head 304", "1 ended"]),
        Row("204 with a body", length("1", 1, [], status: "204"), ["1 head 204"], violates: .unexpectedBody),
        Row("304 with a body", length("1", 1, [], status: "304"), ["1 head 304"], violates: .unexpectedBody),
        Row("204 with empty DATA", length("0", 0, [], status: "204"), ["1 head 204", "1 ended"]),
        Row("HEAD with a length", head([("content-length", "5")]), ["1 head 200", "1 ended"], isHead: true),
        Row("HEAD with empty DATA", length("5", 0, []), ["1 head 200", "1 ended"], isHead: true),
        Row("HEAD with a body", length("5", 5, []), ["1 head 200"], violates: .unexpectedBody, isHead: true),
        Row(
            "trailers before the end of the length",
            head([("content-length", "5")], ends: false) + WireFrame.headers(Block.of([("a", "b")]), on: 1, ends: true),
            ["1 head 200"], violates: .bodyLength),
    ]

    private static func interim(_ status: String, ends: Bool = false) -> [UInt8] {
        WireFrame.headers(Block.status(status), on: 1, ends: ends)
    }

    private static let trailers = WireFrame.headers(Block.of([("a", "b")]), on: 1, ends: true)

    static let sequences: [Row] = [
        Row(
            "interim responses", interim("100") + interim("103") + head([]),
            ["1 interim 100", "1 interim 103", "1 head 200", "1 ended"]),
        Row(
            "a length in an interim response",
            WireFrame.headers(Block.status("103", [("content-length", "5")]), on: 1) + head([]),
            ["1 interim 103", "1 head 200", "1 ended"]),
        Row("an interim response that ends the stream", interim("100", ends: true), violates: .endedInterim),
        Row(
            "data after an interim response", interim("100") + WireFrame.data([1], on: 1), ["1 interim 100"],
            violates: .dataBeforeHead),
        Row("data before the head", WireFrame.data([1], on: 1), violates: .dataBeforeHead),
        Row("empty data before the head", WireFrame.data([], on: 1, ends: true), violates: .dataBeforeHead),
        Row(
            "as many interim responses as allowed", (0..<20).flatMap { _ in interim("103") } + head([]),
            [String](repeating: "1 interim 103", count: 20) + ["1 head 200", "1 ended"]),
        Row(
            "one interim response more", (0..<21).flatMap { _ in interim("103") },
            [String](repeating: "1 interim 103", count: 20), violates: .manyInterims),
        Row(
            "trailers", head([], ends: false) + WireFrame.data([1], on: 1) + trailers,
            ["1 head 200", "1 data", "1 trailers 1", "1 ended"]),
        Row(
            "trailers without a body", head([], ends: false) + trailers, ["1 head 200", "1 trailers 1", "1 ended"]),
        Row(
            "trailers in several frames",
            head([], ends: false) + WireFrame.headers([0, 1], on: 1, ends: true, endsBlock: false)
                + WireFrame.continuation([0x61, 1, 0x62], on: 1, endsBlock: true),
            ["1 head 200", "1 trailers 1", "1 ended"]),
        Row(
            "empty trailers", head([], ends: false) + WireFrame.headers([], on: 1, ends: true),
            ["1 head 200", "1 trailers 0", "1 ended"]),
        Row(
            "trailers that do not end the stream",
            head([], ends: false) + WireFrame.headers(Block.of([("a", "b")]), on: 1), ["1 head 200"],
            violates: .unendedTrailers),
        Row("a second head", head([], ends: false) + head([]), ["1 head 200"], violates: .pseudoField),
        Row(
            "a pseudo-field in trailers",
            head([], ends: false) + WireFrame.headers(Block.of([(":path", "/")]), on: 1, ends: true),
            ["1 head 200"], violates: .pseudoField),
    ]

    private func check(_ row: Row) {
        for oneByOne in [false, true] {
            var peer = HTTP2Peer()
            peer.open(isHead: row.isHead)
            _ = peer.sent()
            peer.receive(row.bytes, oneByOne: oneByOne)
            // How much of a body precedes its violation depends on how it arrives.
            #expect(peer.log.filter { row.violation == nil || $0 != "1 data" } == row.log)
            #expect(peer.error == nil)
            #expect(peer.state.streamCount == 0 || row.log.last != "1 ended")
            #expect(peer.sent() == (row.violation.map { [.resetStream(1, $0.code)] } ?? []))
            // The connection lives.
            peer.open()
            peer.receive(WireFrame.headers(Block.status("204"), on: 3, ends: true))
            #expect(peer.log.suffix(2) == ["3 head 204", "3 ended"])
        }
    }

    @Test("a malformed field fails its stream only", .rows("H-9"), arguments: fields)
    func checkFields(row: Row) { check(row) }

    @Test("a response has one valid status, or its stream fails", .rows("H-9"), arguments: statuses)
    func checkStatuses(row: Row) { check(row) }

    @Test("the body has the length of Content-Length, or the stream fails", .rows("H-10"), arguments: lengths)
    func checkLengths(row: Row) { check(row) }

    @Test("interim responses, heads and trailers have their order", .rows("H-12", "H-13"), arguments: sequences)
    func checkSequences(row: Row) { check(row) }

    @Test("a head contains its fields and no pseudo-fields; trailers are separate", .rows("H-9", "H-13"))
    func header() throws {
        var state = ConnectionState(.client, at: Deadline(nanoseconds: 0))
        var fields = OutgoingFields()
        fields.append(":method", "GET")
        _ = state.open(fields, endsStream: true, at: Deadline(nanoseconds: 0))
        var events: [ConnectionEvent] = []
        let bytes =
            WireFrame.settings() + WireFrame.headers(Block.status("200", [("a", "b"), ("a", "c")]), on: 1)
            + WireFrame.headers(Block.of([("digest", "d")]), on: 1, ends: true)
        try state.receive(bytes.span, at: Deadline(nanoseconds: 0), into: &events)
        guard case .head(_, .response(200, let header)) = events[1], case .trailers(_, let trailers) = events[2] else {
            Issue.record("\(events)")
            return
        }
        #expect(header == Header(Field(name: "a", value: "b"), Field(name: "a", value: "c")))
        #expect(trailers == Header(Field(name: "digest", value: "d")))
    }

    @Test("a violation is reported with the frame and the rule", .rows("H-9"))
    func report() throws {
        var state = ConnectionState(.client, at: Deadline(nanoseconds: 0))
        _ = state.open(OutgoingFields(), endsStream: true, at: Deadline(nanoseconds: 0))
        var events: [ConnectionEvent] = []
        let bytes = WireFrame.settings() + WireFrame.headers(Block.status("200", [("A", "b")]), on: 1)
        try state.receive(bytes.span, at: Deadline(nanoseconds: 0), into: &events)
        let resets = events.compactMap { if case .reset(_, let reset) = $0 { reset } else { nil } }
        let reset = try #require(resets.last)
        #expect(
            "\(reset.error, default: "")"
                == "HEADERS frame on stream 1: a field name is not a token in lower case (RFC 9113 §8.2.1)")
        #expect(!reset.isUnprocessed)
    }
}
