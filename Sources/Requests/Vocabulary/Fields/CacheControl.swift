/// The directives of a Cache-Control field (RFC 9111 §5.2), of a request or a response.
///
/// Unknown directives are kept; malformed elements are dropped. Names compare without regard to ASCII case.
public struct CacheControl: Hashable, Sendable {
    /// The directives in order; a value is unquoted.
    public var directives: FieldParameters

    private var bare: Set<CaseInsensitiveString> = []

    /// The directives of a field's value; several fields are joined with commas.
    public init(_ fieldValue: String) {
        directives = FieldParameters()
        var reader = FieldValueReader(fieldValue)
        var names = DistinctNames()
        while true {
            reader.skipCommas()
            if reader.isAtEnd { break }
            if let name = reader.token() {
                reader.skipWhitespace()
                let hasValue = reader.skip("=")
                if hasValue { reader.skipWhitespace() }
                let value = hasValue ? reader.value() : ""
                reader.skipWhitespace()
                let isWhole = reader.isAtEnd || reader.isAt(",")
                if names.insert(name) { add(name, isWhole ? value : nil, hasValue: hasValue) }
            }
            while !reader.isAtEnd, !reader.isAt(",") { reader.position += 1 }
        }
    }

    /// Adds a directive; a malformed argument reads as an empty one, so that what it limits counts as passed.
    private mutating func add(_ name: String, _ value: String?, hasValue: Bool) {
        directives.append(name, value ?? "")
        if !hasValue { bare.insert(CaseInsensitiveString(name)) }
    }

    /// Whether there is a directive called `name`, with or without an argument.
    public func contains(_ name: String) -> Bool { directives[name] != nil }

    /// The argument of the directive called `name` in seconds; nil when there is no such directive.
    ///
    /// An argument that is missing or no number is 0: the answer counts as stale (RFC 9111 §4.2.1). One too large to
    /// count is 2,147,483,648 (RFC 9111 §1.2.2).
    public func seconds(of name: String) -> Int? {
        guard let value = directives[name] else { return nil }
        var reader = FieldValueReader(value)
        let number = reader.number(limitedTo: 1 << 31) ?? 0
        return reader.isAtEnd ? number : 0
    }

    /// The field names that the directive called `name` is limited to, as in `no-cache="Set-Cookie"`; empty for all.
    public func fieldNames(of name: String) -> [Field.Name] {
        (directives[name] ?? "").utf8.split(separator: UInt8(ascii: ","))
            .map { $0.filter { $0 != 0x20 && $0 != 0x09 } }.filter { !$0.isEmpty }
            .map { Field.Name(String(decoding: $0, as: UTF8.self)) }
    }

    /// The directives as a field's value.
    public var fieldValue: String {
        directives.map { name, value in
            bare.contains(CaseInsensitiveString(name)) ? name : "\(name)=\(FieldValueWriter.tokenOrQuoted(value))"
        }.joined(separator: ", ")
    }
}

extension CacheControl {
    /// How long an answer is fresh, in seconds: `max-age` (RFC 9111 §5.2.1.1, §5.2.2.1).
    public var maxAge: Int? { seconds(of: "max-age") }

    /// How long shared caches may hold an answer for fresh, in seconds: `s-maxage`.
    public var sharedMaxAge: Int? { seconds(of: "s-maxage") }

    /// How stale an answer may be, in seconds: `max-stale`; without an argument however stale.
    public var maxStale: Int? { bare.contains("max-stale") ? .max : seconds(of: "max-stale") }

    /// How long an answer must stay fresh at least, in seconds: `min-fresh`.
    public var minFresh: Int? { seconds(of: "min-fresh") }

    /// How long a stale answer may be used while it is asked for anew, in seconds (RFC 5861 §3).
    public var staleWhileRevalidate: Int? { seconds(of: "stale-while-revalidate") }

    /// How long a stale answer may be used when the server fails, in seconds (RFC 5861 §4).
    public var staleIfError: Int? { seconds(of: "stale-if-error") }

    /// Whether nothing may be stored: `no-store`.
    public var isNoStore: Bool { contains("no-store") }

    /// Whether a stored answer must be confirmed before each use: `no-cache` without field names.
    public var isNoCache: Bool { contains("no-cache") && fieldNames(of: "no-cache").isEmpty }

    /// Whether a stale answer must never be used unconfirmed: `must-revalidate`.
    public var isMustRevalidate: Bool { contains("must-revalidate") }

    /// Whether shared caches must not store the answer: `private` without field names.
    public var isPrivate: Bool { contains("private") && fieldNames(of: "private").isEmpty }

    /// Whether anyone may store the answer: `public`.
    public var isPublic: Bool { contains("public") }

    /// Whether the answer stays as it is while it is fresh: `immutable` (RFC 8246).
    public var isImmutable: Bool { contains("immutable") }

    /// Whether only a stored answer is wanted: `only-if-cached`.
    public var isOnlyIfCached: Bool { contains("only-if-cached") }

    /// Nothing may be stored.
    public static let noStore = CacheControl("no-store")

    /// What is stored must be confirmed.
    public static let noCache = CacheControl("no-cache")

    /// Only a stored answer is wanted.
    public static let onlyIfCached = CacheControl("only-if-cached")

    /// Fresh for `seconds`; negative is 0.
    public static func maxAge(_ seconds: Int) -> CacheControl {
        var control = CacheControl()
        control.directives["max-age"] = String(max(seconds, 0))
        return control
    }

    private init() {
        directives = FieldParameters()
    }
}
