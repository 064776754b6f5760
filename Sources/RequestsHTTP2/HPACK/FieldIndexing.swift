import Requests

/// The rule for storing a sent field in the tables of both sides (RFC 7541 §6.2).
enum FieldIndexing: Sendable {
    case incremental
    /// The value is unlikely to be sent again, and would remove others from the table.
    case without
    /// The value is a secret. If a table stored it, an attacker could test guesses by the sizes of blocks (RFC 7541
    /// §7.1).
    case never

    /// The minimum length of a cookie that is stored in tables; a shorter one can be guessed.
    private static let smallestIndexedCookie = 20

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
    private static let setCookie = staticIndex(of: "set-cookie")

    /// Returns whether a field may be secret; `staticIndex` is the index of its name in the static table, or nil.
    ///
    /// The result is false for credentials, which are never indexed in any case.
    static func mayBeSecret(_ staticIndex: Int?) -> Bool {
        staticIndex == nil || staticIndex == cookie || staticIndex == setCookie
    }

    private static func staticIndex(of name: String) -> Int? {
        var fields = FieldQueue()
        fields.append(nameCount: name.utf8.count) { $0.append(contentsOf: name.utf8) }
        return StaticTable.index(ofNameOf: 0, in: fields)
    }

    /// Creates the indexing of a field.
    ///
    /// - Parameters:
    ///   - staticIndex: The index of its name in the static table, or nil if the name is not there.
    ///   - valueCount: The number of bytes of its value.
    ///   - isSecret: Whether the app keeps the value secret.
    init(staticIndex: Int?, valueCount: Int, isSecret: Bool) {
        self = staticIndex.map { Self.known[$0] } ?? .incremental
        let isShortCookie = staticIndex == Self.cookie && valueCount < Self.smallestIndexedCookie
        if isSecret || isShortCookie { self = .never }
    }
}
