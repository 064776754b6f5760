extension ResponseBody {
    /// The form in which a response body is delivered.
    public enum Delivery: Hashable, Sendable {
        /// The whole body in memory, at most `limit` bytes; a longer body is ``RequestError/Reason/tooLarge(limit:)``.
        case collected(limit: Int)

        /// Chunks that are read on demand.
        ///
        /// The response keeps its connection until it has been read to the end or is released.
        case streamed

        /// A file at `path`, which appears whole or not at all.
        ///
        /// Only the body of a 2xx response is written. Of any other body, at most 1 MiB is
        /// collected (decision 0003).
        case file(path: String)

        /// The default limit of a collected body: 64 MiB.
        public static let defaultLimit = 64 << 20

        /// The maximum number of bytes collected from an error body if another delivery was requested: 1 MiB.
        package static let errorBodyLimit = 1 << 20
    }
}

extension ResponseBody.Delivery {
    /// Returns whether both are equal; paths are compared byte for byte, as file names are.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.collected(let left), .collected(let right)): left == right
        case (.streamed, .streamed): true
        case (.file(let left), .file(let right)): left.hasSameBytes(as: right)
        case (.collected, _), (.streamed, _), (.file, _): false
        }
    }
}
