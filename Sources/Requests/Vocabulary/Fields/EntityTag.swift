/// The name of one state of a resource, compared octet by octet (RFC 9110 §8.8.3).
public struct EntityTag: Sendable {
    /// The text between the quotation marks.
    public var opaqueTag: String

    /// Whether states that are merely equivalent share the tag: `W/`.
    public var isWeak: Bool

    /// A tag of `opaqueTag`.
    public init(_ opaqueTag: String, isWeak: Bool = false) {
        self.opaqueTag = opaqueTag
        self.isWeak = isWeak
    }

    /// Reads a field's value, `"xyzzy"` or `W/"xyzzy"`; nil when it is malformed.
    public init?(fieldValue: String) {
        var reader = FieldValueReader(fieldValue)
        reader.skipWhitespace()
        self.init(&reader)
        reader.skipWhitespace()
        guard reader.isAtEnd else { return nil }
    }

    fileprivate init?(_ reader: inout FieldValueReader) {
        isWeak = reader.skip("W")
        guard !isWeak || reader.skip("/"), reader.skip("\"") else { return nil }
        opaqueTag = reader.text { $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F } ?? ""
        guard reader.skip("\"") else { return nil }
    }

    /// Whether both name the same bytes: neither is weak (RFC 9110 §8.8.3.2).
    public func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && matchesWeakly(other)
    }

    /// Whether both name equivalent states (RFC 9110 §8.8.3.2).
    public func matchesWeakly(_ other: EntityTag) -> Bool { OctetText.areEqual(opaqueTag, other.opaqueTag) }

    /// The tag as a field's value.
    public var fieldValue: String { "\(isWeak ? "W/" : "")\"\(opaqueTag)\"" }
}

extension EntityTag: Hashable {
    /// Whether both have the same octets and strength.
    public static func == (left: Self, right: Self) -> Bool {
        left.isWeak == right.isWeak && left.matchesWeakly(right)
    }

    /// Hashes the octets and the strength, so that equal tags hash alike.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(isWeak)
        OctetText.hash(opaqueTag, into: &hasher)
    }
}

/// The states that If-Match or If-None-Match names (RFC 9110 §13.1.1, §13.1.2).
public enum EntityTagCondition: Hashable, Sendable {
    /// Any state at all: `*`.
    case any
    /// The states of these tags.
    case tags([EntityTag])

    /// Reads a field's value; nil when it is malformed or names nothing.
    public init?(fieldValue: String) {
        var reader = FieldValueReader(fieldValue)
        reader.skipCommas()
        if reader.skip("*") {
            guard reader.skipCommas(), reader.isAtEnd else { return nil }
            self = .any
            return
        }
        var tags: [EntityTag] = []
        while !reader.isAtEnd {
            guard let tag = EntityTag(&reader), reader.skipCommas() else { return nil }
            tags.append(tag)
        }
        guard !tags.isEmpty else { return nil }
        self = .tags(tags)
    }

    /// The condition as a field's value.
    public var fieldValue: String {
        switch self {
        case .any: "*"
        case .tags(let tags): tags.map(\.fieldValue).joined(separator: ", ")
        }
    }
}
