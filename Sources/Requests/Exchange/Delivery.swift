/// How a response's body is to be handed over.
public enum Delivery: Hashable, Sendable {
    /// Whole and in memory, at most `limit` bytes; a longer body is ``RequestError/Reason/tooLarge(limit:)``.
    case collected(limit: Int)

    /// In pieces, as the consumer asks for them; the response owns its connection until the end is read or it is dropped.
    case streamed

    /// Written to the file at `path`, which appears whole or not at all.
    ///
    /// Only the body of a 2xx response is written; any other is collected, at most ``errorBodyLimit`` bytes of it.
    case file(path: String)

    /// The limit of a collected body when nothing else is said: 64 MiB.
    public static let defaultLimit = 64 << 20

    /// How much of a body that explains a refusal is read where the body was asked for in another form: 1 MiB.
    public static let errorBodyLimit = 1 << 20
}
