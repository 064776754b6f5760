/// The properties of an executor that middleware around it must know.
///
/// An executor declares its traits with ``RequestExecutor/traits``. Middleware passes them on, except for those that it
/// makes untrue (``Middleware/traits(before:)``).
public struct ExecutorTraits: OptionSet, Hashable, Sendable {
    /// The bits of the traits.
    public let rawValue: Int

    /// Creates traits from their bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// A request for a file must arrive unchanged: the executor resumes downloads, or writes decoded content to the
    /// file itself.
    ///
    /// Middleware must then not replace ``ResponseBody/Delivery/file(path:)`` with a stream.
    public static let writesFiles = ExecutorTraits(rawValue: 1)

    /// If ``PreparedRequest/permitsEncodedStream`` is true, the executor returns a body with a content coding as a
    /// stream, so that it is decoded while it arrives.
    ///
    /// Middleware does not pass this trait on unless it expects such a stream.
    public static let streamsEncodedBodies = ExecutorTraits(rawValue: 2)

    /// Middleware adds credentials or cookies, or may do so later.
    ///
    /// A cache outside it cannot see to whom a response belongs.
    package static let addsCredentials = ExecutorTraits(rawValue: 1 << 34)

    /// Middleware sends requests again after failures.
    ///
    /// Hedging outside it is moved to the inside, because each attempt must be hedged, not the whole series.
    package static let retries = ExecutorTraits(rawValue: 1 << 35)
}
