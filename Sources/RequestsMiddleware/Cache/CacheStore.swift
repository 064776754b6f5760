/// A place for the responses of a cache, such as ``Caching/MemoryStore`` or ``Caching/DiskStore``.
///
/// Several tasks use a store at the same time. It may remove an entry at any time, and must not return an entry for
/// another key. Its functions do not throw: if a store fails, the cache sends requests as if nothing were stored.
public protocol CacheStore: Sendable {
    /// Returns the entry for a key; nil if there is none.
    func entry(for key: Caching.Key) async -> Caching.Entry?

    /// Replaces the entry for a key.
    ///
    /// If the entry cannot be stored, the former one must be removed.
    func store(_ entry: Caching.Entry, for key: Caching.Key) async

    /// Removes the entry for a key, if there is one.
    func removeEntry(for key: Caching.Key) async

    /// Removes all entries.
    func removeAll() async
}

extension Caching {
    /// An entry of a ``CacheStore``: a response with the times of its exchange, or the fields that select among the
    /// responses for one URI.
    public struct Entry: Sendable {
        enum Content: Sendable {
            case response(StoredResponse)
            case variants(VariantList)
        }

        /// The content in one reference, because stores move entries often.
        private final class Box: Sendable {
            let content: Content

            init(_ content: Content) {
                self.content = content
            }
        }

        private let box: Box

        var content: Content { box.content }

        init(_ content: Content) {
            box = Box(content)
        }

        init(_ response: StoredResponse) {
            self.init(.response(response))
        }

        /// The approximate size in bytes, in memory and in a file.
        public var size: Int {
            switch content {
            case .response(let response): response.size
            case .variants(let list): 64 + list.names.reduce(0) { $0 + $1.reduce(32) { $0 + $1.utf8.count + 16 } }
            }
        }

        /// Whether the entry must be stored only in memory.
        public var isMemoryOnly: Bool {
            if case .response(let response) = content { response.storage == .memory } else { false }
        }
    }
}

extension Caching.Entry: CustomStringConvertible, CustomReflectable {
    /// The kind and the size, without the content, which can be secret.
    public var description: String { "cache entry of \(size) bytes" }

    /// The mirror that `dump` prints: the description.
    public var customMirror: Mirror { Mirror(self, children: ["entry": description]) }
}
