extension Caching {
    /// The places where a response may be stored.
    @nonexhaustive
    public enum Storage: Int, Comparable, Sendable {
        /// The response is not stored.
        case never
        /// The response is stored only in memory.
        case memory
        /// The response is stored in memory or in files.
        case anywhere

        /// Returns whether `left` permits less than `right`.
        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

        /// Returns the places for a response with `header`.
        ///
        /// A response with Expires, or with `no-cache`, `no-store`, `max-age` or `s-maxage` in Cache-Control, can be
        /// stored wherever this value permits. Other directives alone, such as `public`, do not count: without one of
        /// those above, `limit` applies as well.
        public func limited(to limit: Storage, unlessIn header: Header) -> Storage {
            if header.contains(.expires) { return self }
            if let control = header.cacheControl,
                ["no-cache", "no-store", "max-age", "s-maxage"].contains(where: control.has)
            {
                return self
            }
            return min(self, limit)
        }
    }

    /// The rules of a cache that the protocol leaves open.
    public struct Rules: Hashable, Sendable {
        /// The places for responses without caching directives; by default all.
        public var storageWithoutDirectives = Storage.anywhere

        /// The places for responses without caching directives to requests whose decoder reads JSON; by default none.
        ///
        /// Responses of an API that does not mention caching are rarely meant to be stored.
        public var storageOfJSONWithoutDirectives = Storage.never

        /// The maximum length of a stored body in bytes; the default is 8 MiB, and negative numbers count as 0.
        public var maximumBodySize = 8 << 20

        /// The longest lifetime that is estimated from Last-Modified, a tenth of the time since then; the default is
        /// 24 hours.
        public var heuristicLimit = Duration.seconds(86_400)

        /// The time for which a stale response without the directive `stale-if-error` may replace an error; the default
        /// is 0.
        public var staleIfError = Duration.zero

        /// Creates the default rules.
        public init() {}
    }
}

extension Caching.Rules {
    /// Returns the places for the response to `request`, which HTTP permits to be stored (RFC 9111 §3).
    func storage(of header: Header, for request: PreparedRequest) -> Caching.Storage {
        let isJSON = request.acceptedTypes.contains { MediaType.json.reads($0) }
        let standard = isJSON ? storageOfJSONWithoutDirectives : storageWithoutDirectives
        let limit = request.attributes[Caching.StorageLimit.self] ?? standard
        return Caching.Storage.anywhere.limited(to: limit, unlessIn: header)
    }

    /// Returns whether a private cache may store a response to GET (RFC 9111 §3).
    static func permitsStoring(_ status: HTTPStatus, _ header: Header, for conditions: CacheConditions) -> Bool {
        guard (200...599).contains(status.code), status != 206, status != 304, !conditions.noStore else { return false }
        let directives = DirectiveNames(header[.cacheControl] ?? "")
        if directives.has("must-understand") {
            // The directive replaces no-store for caches that understand the status (RFC 9111 §5.2.2.3).
            guard status.isUnderstoodByCaches else { return false }
        } else if directives.has("no-store") {
            return false
        }
        if VariantList.names(in: header) == nil { return false }
        if status.isHeuristicallyCacheable || header.contains(.expires) { return true }
        return directives.has("max-age") || directives.has("public") || directives.has("private")
    }

    var heuristicSeconds: Double { heuristicLimit / .seconds(1) }
    var staleIfErrorSeconds: Double { staleIfError / .seconds(1) }
}

/// The names of the directives of a Cache-Control field.
///
/// Most responses are not stored, so the names are read without an allocation if no argument is quoted.
private enum DirectiveNames {
    /// The value, in which each comma ends a directive.
    case simple(String)
    case parsed(CacheControl)

    init(_ value: String) {
        let isSimple = value.isContiguousUTF8 && !value.containsByte("\"")
        self = isSimple ? .simple(value) : .parsed(CacheControl(fieldValue: value))
    }

    func has(_ name: StaticString) -> Bool {
        switch self {
        case .simple(let value):
            value.utf8.withContiguousStorageIfAvailable { Self.has(name, in: $0) } ?? false
        case .parsed(let control): control.has("\(name)")
        }
    }

    private static func has(_ name: StaticString, in value: UnsafeBufferPointer<UInt8>) -> Bool {
        let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var position = 0
        while position < value.count {
            let start = value[position...].firstIndex { $0 != 0x20 && $0 != 0x09 } ?? value.count
            let end = value[start...].firstIndex { !Token.isTokenByte($0) } ?? value.count
            if ASCIIFolding.areEqual(UnsafeBufferPointer(rebasing: value[start..<end]), name) { return true }
            position = (value[end...].firstIndex(of: UInt8(ascii: ",")) ?? value.count) + 1
        }
        return false
    }
}

extension Caching {
    /// The limit of one request for the storage of a response without caching directives.
    enum StorageLimit: RequestAttributes.Key {
        typealias Value = Storage
    }
}

extension Request {
    /// Returns this request with a limit for storing a response that has no caching directives.
    ///
    /// It replaces the limit of the cache's ``Caching/Rules``. A response with Expires, or with `no-cache`, `no-store`,
    /// `max-age` or `s-maxage`, is stored as it says. It has no effect without a cache.
    public consuming func cacheStorage(_ limit: Caching.Storage) -> Self {
        setting(attribute: Caching.StorageLimit.self, to: limit)
    }
}

extension CacheControl {
    /// Returns whether there is a directive with a name, with or without an argument.
    func has(_ name: String) -> Bool { directives[name] != nil }
}
