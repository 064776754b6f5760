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
        /// stored wherever this value permits. Other directives, such as `public`, do not count: for a response with no
        /// others, `limit` applies as well.
        package func limited(to limit: Storage, unlessIn header: Header) -> Storage {
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

        /// The maximum lifetime that is estimated as a tenth of the time since Last-Modified; the default is 24 hours.
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
        let directives = StorageDirectives(header)
        if directives.contains(.mustUnderstand) {
            // The directive replaces no-store for caches that understand the status (RFC 9111 §5.2.2.3).
            guard status.isUnderstoodByCaches else { return false }
        } else if directives.contains(.noStore) {
            return false
        }
        if VariantList.names(in: header) == nil { return false }
        return status.isHeuristicallyCacheable || header.contains(.expires) || directives.contains(.storable)
    }

    var heuristicSeconds: Double { heuristicLimit / .seconds(1) }
    var staleIfErrorSeconds: Double { staleIfError / .seconds(1) }
}

/// The directives in a response that decide whether it may be stored.
private struct StorageDirectives: OptionSet {
    let rawValue: UInt8

    static let mustUnderstand = StorageDirectives(rawValue: 1)
    static let noStore = StorageDirectives(rawValue: 2)
    /// max-age, public or private.
    static let storable = StorageDirectives(rawValue: 4)

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Reads the names of the directives in Cache-Control.
    ///
    /// It allocates nothing if no argument is quoted, because most responses are not stored.
    init(_ header: Header) {
        self = []
        guard let value = header[.cacheControl] else { return }
        let isRead: Void? = value.utf8.withContiguousStorageIfAvailable { bytes in
            if bytes.contains(UInt8(ascii: "\"")) { readQuoted(value) } else { readSimple(bytes) }
        }
        if isRead == nil { readQuoted(value) }
    }

    private mutating func readQuoted(_ value: String) {
        let control = CacheControl(fieldValue: value)
        if control.has("must-understand") { insert(.mustUnderstand) }
        if control.has("no-store") { insert(.noStore) }
        if ["max-age", "public", "private"].contains(where: control.has) { insert(.storable) }
    }

    /// Reads a value in which every comma ends a directive.
    private mutating func readSimple(_ value: UnsafeBufferPointer<UInt8>) {
        var position = 0
        while position < value.count {
            var start = position
            while start < value.count, value[start] == 0x20 || value[start] == 0x09 { start += 1 }
            var end = start
            while end < value.count, Token.isTokenByte(value[end]) { end += 1 }
            insert(Self.directive(UnsafeBufferPointer(rebasing: value[start..<end])))
            position = end
            while position < value.count, value[position] != UInt8(ascii: ",") { position += 1 }
            position += 1
        }
    }

    private static func directive(_ name: UnsafeBufferPointer<UInt8>) -> StorageDirectives {
        func isEqual(to other: StaticString) -> Bool {
            ASCIIFolding.areEqual(name, UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount))
        }
        if isEqual(to: "public") || isEqual(to: "max-age") || isEqual(to: "private") { return .storable }
        if isEqual(to: "no-store") { return .noStore }
        return isEqual(to: "must-understand") ? .mustUnderstand : []
    }
}

extension Caching {
    /// The limit of one request for storing a response without caching directives.
    enum StorageLimit: RequestAttributes.Key {
        typealias Value = Storage
    }
}

extension Request {
    /// Returns this request with a limit for storing a response without caching directives.
    ///
    /// It replaces the limit of the cache's ``Caching/Rules``. A response with Expires, or with `no-cache`, `no-store`,
    /// `max-age` or `s-maxage`, is stored as these say. The limit has no effect without a cache.
    public consuming func cacheStorage(_ limit: Caching.Storage) -> Self {
        setting(attribute: Caching.StorageLimit.self, to: limit)
    }
}

extension CacheControl {
    /// Returns whether there is a directive with a name, with or without an argument.
    func has(_ name: String) -> Bool { directives[name] != nil }
}
