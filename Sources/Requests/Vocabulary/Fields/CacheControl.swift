/// The directives of a Cache-Control field, in a request or a response (RFC 9111 §5.2).
///
/// Unknown directives are kept; malformed elements are ignored. Names are compared without regard to ASCII case.
public struct CacheControl: Hashable, Sendable {
    /// The directives and their arguments in order, without quotation marks and escapes; a directive without an
    /// argument has an empty one.
    public var directives: FieldParameters

    /// Exceptions to the rule that a directive has no argument if its value in ``directives`` is empty.
    ///
    /// False: the directive has an argument, but an empty or malformed one. True: a repetition without an argument, or
    /// with another list of field names, cancels the argument. Nearly every field has no exception.
    private var exceptions: [CaseInsensitiveString: Bool] = [:]

    /// Creates the directives of a field value; join several fields with commas.
    public init(fieldValue: String) {
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
                // Of several directives with one name, the first counts (RFC 9111 §4.2.1), and one without an argument
                // is not limited by another one. A second list of field names makes the directive apply to the whole
                // response: no name may be ignored.
                if names.insert(name) {
                    // A malformed argument counts as empty, so a time limit in it is 0.
                    let value = isWhole ? value ?? "" : ""
                    directives.add(name: name, value: value)
                    if hasValue, value.isEmpty { exceptions[CaseInsensitiveString(name)] = false }
                } else if !hasValue || Self.namesFields(name) {
                    exceptions[CaseInsensitiveString(name)] = true
                }
            }
            while !reader.isAtEnd, !reader.isAt(",") { reader.position += 1 }
        }
    }

    /// Returns whether a directive's argument is a list of field names.
    private static func namesFields(_ name: String) -> Bool {
        ["no-cache", "private"].contains { ASCIIFolding.areEqual(name, $0) }
    }

    /// Returns whether a directive has no argument, given its name and its value in ``directives``.
    private func isBare(_ name: String, _ value: String) -> Bool {
        guard !exceptions.isEmpty, let exception = exceptions[CaseInsensitiveString(name)] else {
            return value.isEmpty
        }
        return exception
    }

    /// Returns whether there is a directive named `name`, with or without an argument.
    package func contains(_ name: String) -> Bool { directives[name] != nil }

    /// Returns the argument of a directive in seconds, or nil if there is no such directive.
    ///
    /// - Parameter name: The name of the directive.
    /// - Returns: The seconds. A missing or malformed argument is 0, which makes the response stale (RFC 9111 §4.2.1).
    ///   A number above 2,147,483,648 is 2,147,483,648 (RFC 9111 §1.2.2).
    package func seconds(of name: String) -> Int? {
        contains(name) ? number(of: name) ?? 0 : nil
    }

    /// Returns the argument of a directive in seconds, at most 2,147,483,648; nil if it is missing or malformed.
    package func number(of name: String) -> Int? {
        guard let value = directives[name] else { return nil }
        var reader = FieldValueReader(value)
        let number = reader.number(limitedTo: 1 << 31)
        return reader.isAtEnd ? number : nil
    }

    /// Returns the field names to which a directive is limited, as in `no-cache="Set-Cookie"`; empty if there are none.
    package func fieldNames(of name: String) -> [Field.Name] {
        (directives[name] ?? "").utf8.split(separator: UInt8(ascii: ","))
            .map { $0.filter { $0 != 0x20 && $0 != 0x09 } }.filter { !$0.isEmpty }
            .map { Field.Name(String(decoding: $0, as: UTF8.self)) }
    }

    /// The directives as a field value.
    public var fieldValue: String {
        directives.map { name, value in
            isBare(name, value) ? name : "\(name)=\(FieldValueWriter.tokenOrQuoted(value))"
        }.joined(separator: ", ")
    }
}

extension CacheControl {
    /// The freshness lifetime of the response in seconds, `max-age` (RFC 9111 §5.2.1.1, §5.2.2.1).
    public var maxAge: Int? { seconds(of: "max-age") }

    /// The freshness lifetime in shared caches in seconds, `s-maxage`.
    public var sharedMaxAge: Int? { seconds(of: "s-maxage") }

    /// The accepted staleness in seconds, `max-stale`; `Int.max` if it has no argument.
    public var maxStale: Int? {
        guard let value = directives["max-stale"] else { return nil }
        return isBare("max-stale", value) ? .max : seconds(of: "max-stale")
    }

    /// The minimum time in seconds that the response must remain fresh, `min-fresh`.
    public var minFresh: Int? { seconds(of: "min-fresh") }

    /// The time in seconds that a stale response may be used during validation, `stale-while-revalidate` (RFC 5861 §3).
    public var staleWhileRevalidate: Int? { seconds(of: "stale-while-revalidate") }

    /// The time in seconds that a stale response may be used after a server error, `stale-if-error` (RFC 5861 §4).
    public var staleIfError: Int? { seconds(of: "stale-if-error") }

    /// Returns whether there is a directive named `name` that is not limited to certain fields.
    private func appliesToWhole(_ name: String) -> Bool {
        directives[name].map { isBare(name, $0) || fieldNames(of: name).isEmpty } ?? false
    }

    /// Whether caches must not store the request or the response, `no-store`.
    public var noStore: Bool { contains("no-store") }

    /// Whether a stored response must be validated before each use: `no-cache` without field names, or repeated.
    public var noCache: Bool { appliesToWhole("no-cache") }

    /// Whether a stale response must be validated before use, `must-revalidate`.
    public var mustRevalidate: Bool { contains("must-revalidate") }

    /// Whether shared caches must not store the response: `private` without field names, or repeated.
    public var isPrivate: Bool { appliesToWhole("private") }

    /// Whether every cache may store the response, `public`.
    public var isPublic: Bool { contains("public") }

    /// Whether the response does not change while it is fresh, `immutable` (RFC 8246).
    public var isImmutable: Bool { contains("immutable") }

    /// Whether the request accepts only a stored response, `only-if-cached`.
    public var onlyIfCached: Bool { contains("only-if-cached") }

    /// The directive `no-store`.
    public static let noStore = CacheControl(fieldValue: "no-store")

    /// The directive `no-cache`, without field names.
    public static let noCache = CacheControl(fieldValue: "no-cache")

    /// The directive `only-if-cached`.
    public static let onlyIfCached = CacheControl(fieldValue: "only-if-cached")

    /// Returns the directive `max-age` with a number of seconds; a negative number counts as 0.
    public static func maxAge(_ seconds: Int) -> CacheControl {
        var control = CacheControl()
        control.directives["max-age"] = String(max(seconds, 0))
        return control
    }

    private init() {
        directives = FieldParameters()
    }
}
