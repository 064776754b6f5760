import Requests

/// Whether the tables of both sides store a field that is sent (RFC 7541 §6.2).
enum FieldIndexing {
    case incremental
    /// The value is unlikely to be sent again, and would remove others from the table.
    case without
    /// The value is a secret. If a table stored it, its guesses could be recognized by the sizes of blocks (RFC 7541
    /// §7.1).
    case never

    /// A shorter cookie can be guessed.
    private static let smallestIndexedCookie = 20

    /// The names of credentials.
    private static let credentials = ["authorization", "proxy-authorization"]

    /// The names of fields whose values differ in most messages.
    private static let changing = [
        ":path", "age", "content-length", "etag", "if-match", "if-modified-since", "if-none-match", "if-range",
        "if-unmodified-since", "location", "range", "set-cookie",
    ]

    /// The indexing of the names in the static table, by index.
    private static let known: [FieldIndexing] = {
        var known = [FieldIndexing](repeating: .incremental, count: StaticTable.count + 1)
        for index in credentials.compactMap(staticIndex) { known[index] = .never }
        for index in changing.compactMap(staticIndex) { known[index] = .without }
        return known
    }()

    private static let cookie = staticIndex(of: "cookie")

    private static func staticIndex(of name: String) -> Int? {
        var fields = OutgoingFields()
        fields.append(name, "")
        return StaticTable.index(ofNameOf: 0, in: fields.fields)
    }

    /// Creates the indexing of the field at `position` of `fields`.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - position: The position of the field.
    ///   - staticIndex: The index of its name in the static table, or nil if the name is not there.
    ///   - tableSize: The size of the table, which a larger field would leave empty.
    init(of fields: OutgoingFields, at position: Int, staticIndex: Int?, tableSize: Int) {
        let isShortCookie =
            staticIndex == Self.cookie && fields.fields.valueCount(at: position) < Self.smallestIndexedCookie
        if fields.secrets[position] || isShortCookie {
            self = .never
        } else {
            self = staticIndex.map { Self.known[$0] } ?? .incremental
            if self == .incremental, fields.fields.size(at: position) > tableSize { self = .without }
        }
    }
}
