/// A complete response to GET in a cache, with the times of its exchange in seconds since 1970.
struct StoredResponse: Sendable {
    let status: HTTPStatus
    let header: Header
    let body: Data
    let requestTime: Double
    let responseTime: Double
    let storage: Caching.Storage
    /// The maximum lifetime in seconds that is estimated from Last-Modified.
    let heuristicLimit: Double
    /// Whether the response must be validated before each use, although its fields do not say so.
    let needsValidation: Bool
    let freshness: Freshness
    /// The fields without Age, which is different in each use.
    private let fields: [Field]

    /// Creates a stored response; the fields that a cache must not store are left out.
    init(
        status: HTTPStatus, header: Header, body: Data, requestTime: Double, responseTime: Double,
        storage: Caching.Storage, heuristicLimit: Double, needsValidation: Bool
    ) {
        self.status = status
        let storable = header.storable
        self.header = storable
        fields = storable.filter { $0.name != .age }
        self.body = body
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.storage = storage
        self.heuristicLimit = heuristicLimit
        self.needsValidation = needsValidation
        freshness = Freshness(
            status: status, header: header, requestTime: requestTime, responseTime: responseTime,
            heuristicLimit: heuristicLimit, needsValidation: needsValidation)
    }

    /// Returns this response with the fields of a later response: one with status 304, or one to HEAD (RFC 9111 §3.2,
    /// §4.3.4).
    func updated(
        with newer: Header, _ forwarded: CacheExchange.ForwardedExchange, heuristicLimit: Double
    ) -> StoredResponse {
        var fields = header
        var newer = newer
        newer.addDate(forwarded.responseTime)
        let newFields = newer.storable.filter { !Self.unchangedFields.contains($0.name) }
        let names = Set(newFields.map(\.name))
        // The stored Age belongs to the stored Date.
        fields.removeAll { names.contains($0.name) || $0.name == .age }
        fields.add(newFields)
        return StoredResponse(
            status: status, header: fields, body: body, requestTime: forwarded.requestTime,
            responseTime: forwarded.responseTime, storage: storage, heuristicLimit: heuristicLimit,
            needsValidation: needsValidation || forwarded.variesByHiddenFields(fields))
    }

    /// The fields that describe the stored body, which a validation does not change.
    private static let unchangedFields: Set<Field.Name> = [.contentLength, .contentEncoding, .contentRange]

    /// Returns the header with an age in seconds.
    func header(age: Int) -> Header {
        var fields: [Field] = []
        fields.reserveCapacity(self.fields.count + 1)
        fields += self.fields
        fields.append(Field(name: .age, value: String(age)))
        return Header(fields)
    }

    /// The approximate size in memory and in a file, in bytes.
    var size: Int {
        body.count + header.reduce(256) { $0 + $1.name.rawValue.utf8.count + $1.value.utf8.count + 64 }
    }

    /// The fields of a conditional request that validates this response (RFC 9111 §4.3.1); empty if it cannot be
    /// validated.
    var validators: [Field] {
        var fields: [Field] = []
        // An entity tag is opaque, so it is sent as it was received.
        if let tag = header[.etag], !tag.isEmpty { fields.append(Field(name: .ifNoneMatch, value: tag)) }
        // A date does not distinguish the responses for two users.
        if !needsValidation, let date = header[.lastModified], HTTPDate(date) != nil {
            fields.append(Field(name: .ifModifiedSince, value: date))
        }
        return fields
    }
}

extension Header {
    /// Adds the time at which a response without Date arrived (RFC 9110 §6.6.1).
    mutating func addDate(_ seconds: Double) {
        guard !contains(.date) else { return }
        let date = HTTPDate(Date(timeIntervalSince1970: seconds))
        add(Field(name: .date, value: date.description))
    }

    /// The fields that a cache may store (RFC 9111 §3.1), except the ones that `no-cache` names.
    fileprivate var storable: Header {
        var excluded = Self.neverStored
        for value in values(of: .connection) {
            for name in value.utf8.split(separator: UInt8(ascii: ",")) {
                let name = name.filter { $0 != 0x20 && $0 != 0x09 }
                if !name.isEmpty { excluded.insert(Field.Name(String(decoding: name, as: UTF8.self))) }
            }
        }
        // Without validation these fields must not be used, so they are not stored (RFC 9111 §5.2.2.4).
        if let control = cacheControl, control.has("no-cache") {
            excluded.formUnion(control.fieldNames(of: "no-cache"))
        }
        // An array, because reading received fields one by one creates them each time.
        return Header(Array(filter { !excluded.contains($0.name) }))
    }

    private static let neverStored: Set<Field.Name> = [
        .connection, .keepAlive, .proxyConnection, .te, .transferEncoding, .upgrade, .proxyAuthenticate,
        .proxyAuthorization, "Proxy-Authentication-Info",
    ]
}

/// The request fields that select among the stored responses for one URI (RFC 9111 §4.1).
struct VariantList: Hashable, Sendable {
    /// A number in the keys of all variants.
    ///
    /// If the list is removed, its variants can no longer be found.
    let generation: UInt64

    /// Lists of folded field names from Vary, the newest first.
    private(set) var names: [[String]]

    /// The maximum number of lists; a server usually has one.
    static let limit = 8

    init(generation: UInt64, names: [[String]] = []) {
        self.generation = generation
        self.names = names
    }

    /// Moves `list` to the front.
    mutating func insert(_ list: [String]) {
        names.removeAll { $0.count == list.count && zip($0, list).allSatisfy { $0.hasSameBytes(as: $1) } }
        names.insert(list, at: 0)
        names.removeLast(max(0, names.count - Self.limit))
    }

    /// Returns the folded names in Vary, sorted and without duplicates; nil if no request can match, or if a name is
    /// malformed.
    static func names(in header: Header) -> [String]? {
        guard header.contains(.vary) else { return [] }
        var names: Set<CaseInsensitiveString> = []
        for value in header.values(of: .vary) {
            for name in value.utf8.split(separator: UInt8(ascii: ",")) {
                let name = name.trimmingBlanks
                if name.isEmpty { continue }
                // In a key, an invalid name could be read as another name with a value.
                let text = String(Substring(name))
                if name.elementsEqual("*".utf8) || !Field.Name(text).isValid { return nil }
                names.insert(CaseInsensitiveString(ASCIIFolding.folded(text)))
                // More names than any server needs would make each key long.
                if names.count > 64 { return nil }
            }
        }
        return names.map(\.rawValue).sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
    }
}

extension StoredResponse {
    /// Returns whether a 304 response with these fields refers to this response.
    ///
    /// If both have an entity tag, it must be the same (RFC 9110 §8.8.3.2).
    func isConfirmed(by header: Header) -> Bool {
        guard let new = header[.etag], let own = self.header[.etag] else { return true }
        func opaque(_ tag: String) -> Substring.UTF8View { tag.utf8.dropFirst(tag.hasBytePrefix("W/") ? 2 : 0) }
        return opaque(new).elementsEqual(opaque(own))
    }
}
