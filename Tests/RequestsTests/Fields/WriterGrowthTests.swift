import Requests
import TestSupport
import Testing

/// Values of many elements: writing eight times as many may take eight times as long, but not 64 times.
///
/// The counts are so large that copying the text for each element would decide over the time.
@Suite("Growth of written values", .serialized, .timeLimit(.minutes(10)))
struct WriterGrowthTests {
    struct Shape: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Creates a value of the given number of elements, and returns a function that writes it.
        let make: @Sendable (Int) throws -> () throws -> Int

        init(_ description: String, make: @escaping @Sendable (Int) throws -> () throws -> Int) {
            testDescription = description
            self.make = make
        }

        /// Creates a value of the given number of elements with `make`, which `write` writes.
        init<Value>(
            _ description: String, _ make: @escaping @Sendable (Int) throws -> Value,
            write: @escaping @Sendable (Value) throws -> String
        ) {
            self.init(description) { count in
                let value = try make(count)
                return { try write(value).utf8.count }
            }
        }
    }

    private static func names(_ count: Int) -> [String] { (0..<count).map { "n\($0)" } }

    private static func list(_ count: Int, _ separator: String, _ start: String = "") -> String {
        start + names(count).map { "\($0)=\"b c\"" }.joined(separator: separator)
    }

    private static func type(_ count: Int) -> MediaType {
        let parameters = names(count).reduce(into: FieldParameters()) { $0.add(name: $1, value: "b c") }
        return MediaType(type: "a", subtype: "b", parameters: parameters)
    }

    private static func header(_ count: Int) -> Header {
        Header(names(count).map { Field(name: Field.Name($0), value: "value") })
    }

    private static func parameters(_ count: Int) -> RequestParameters {
        RequestParameters(names(count).map { ($0, [1, "b c", ["d": true]]) })
    }

    static let types: [Shape] = [
        Shape("a media type", type) { $0.rawValue },
        Shape("a media type, described", type) { "\($0)" },
        Shape("Accept of one long type", type) { [.json, $0].acceptValue },
    ]

    static let fields: [Shape] = [
        Shape("Accept of many types", { names($0).map { MediaType(type: "a", subtype: .init($0)) } }) {
            $0.acceptValue
        },
        Shape("Accept-Language", { names($0) }) { Field.acceptLanguages($0).value },
        Shape("Cache-Control", { CacheControl(fieldValue: list($0, ", ")) }) { $0.fieldValue },
        Shape("Content-Disposition", { try #require(ContentDisposition(fieldValue: list($0, ";", "a;"))) }) {
            $0.fieldValue
        },
        Shape("Link", { try #require(WebLink.links(in: list($0, ";", "<a>;")).first) }) { $0.fieldValue },
        Shape("a challenge", { try #require(AuthenticationChallenge.challenges(in: list($0, ",", "A ")).first) }) {
            $0.fieldValue
        },
        Shape("entity tags", { EntityTag.Condition(fieldValue: names($0).map { "\"\($0)\"" }.joined(separator: ",")) })
        { $0?.fieldValue ?? "" },
        Shape("ranges", { (0..<$0).map { ByteRange.from($0) } }) { ByteRange.fieldValue($0) },
        Shape("a long value, quoted", { String(repeating: "\"\\", count: $0) }) {
            ContentDisposition("a", parameters: ["filename": $0]).fieldValue
        },
    ]

    static let others: [Shape] = [
        Shape("cookies", { names($0).map { "\($0)=b" }.joined(separator: "; ") }) { text in
            var header: Header = [Field(name: .cookie, value: text)]
            header.set(cookie: try Cookie(name: "n1", value: "c"))
            return header[.cookie] ?? ""
        },
        Shape("query items", { QueryItems(names($0).map { QueryItems.Item(name: $0, value: "b c") }) }) {
            $0.encoded() + "\($0)"
        },
        Shape("a header", header) { $0.description + $0.dictionaryValue.description },
        Shape("parameters as a query", parameters) { try RequestParameters.Format.standard.query(of: $0) },
        Shape("parameters as a form", parameters) {
            String(decoding: try RequestParameters.Format.standard.form(of: $0), as: UTF8.self)
        },
        Shape("parameters, described", parameters) { "\($0)" },
        Shape("parts of a form", { names($0).map { MultipartForm.Part.data(Data([0x61]), name: $0) } }) { parts in
            try AnonymousRequestProvider.example.post(.multipart(parts, boundary: "B"), to: "/").prepared().wireText
        },
        Shape("fields of a form", parameters) { fields in
            try AnonymousRequestProvider.example.post(.multipart([], fields: fields, boundary: "B"), to: "/")
                .prepared().wireText
        },
        Shape("a curl command", header) { header in
            PreparedRequest(target: try TargetURI("http://a/"), header: header).curlCommand()
        },
        Shape("wire text", header) { PreparedRequest(target: try TargetURI("http://a/"), header: $0).wireText },
        Shape("segments of a path", { names($0) }) { segments in
            try AnonymousRequestProvider.example.get(.data, from: RequestPath(segments.joined(separator: "/")))
                .prepared().target.absoluteString
        },
    ]

    @Test(
        "the time to write a value is proportional to its length", .rows("R-71"),
        arguments: types.map { ($0, 16_000) } + fields.map { ($0, 4_000) } + others.map { ($0, 1_500) })
    func value(shape: Shape, size: Int) async throws {
        let ratio = try await Growth.ratio(size: size) { count in
            let write = try shape.make(count)
            return {
                let length = try write()
                #expect(length > 0)
            }
        }
        #expect(ratio <= Growth.limit)
    }
}
