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

extension Delivery {
    /// Whether both are the same; paths compare byte for byte, as the names of files do.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.collected(let left), .collected(let right)): left == right
        case (.streamed, .streamed): true
        case (.file(let left), .file(let right)): left.hasSameBytes(as: right)
        case (.collected, _), (.streamed, _), (.file, _): false
        }
    }
}
