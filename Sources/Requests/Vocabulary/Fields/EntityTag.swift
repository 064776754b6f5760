/// An entity tag, which identifies a version of a representation (RFC 9110 §8.8.3).
public struct EntityTag: Sendable {
    /// The text between the quotation marks, compared octet by octet.
    public var opaqueTag: String

    /// Whether the tag is weak (`W/`); equivalent versions with different bytes can share a weak tag.
    public var isWeak: Bool

    /// Creates a tag from the text between the quotation marks.
    public init(_ opaqueTag: String, isWeak: Bool = false) {
        self.opaqueTag = opaqueTag
        self.isWeak = isWeak
    }

    /// Creates a tag from a field value, `"xyzzy"` or `W/"xyzzy"`, or nil if it is malformed.
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

    /// Returns whether the tags are equal and neither is weak, which means equal bytes (RFC 9110 §8.8.3.2).
    package func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && matchesWeakly(other)
    }

    /// Returns whether the tags are equal, weak or not, which means equivalent versions (RFC 9110 §8.8.3.2).
    package func matchesWeakly(_ other: EntityTag) -> Bool { opaqueTag.hasSameBytes(as: other.opaqueTag) }

    /// The tag as a field value.
    public var fieldValue: String { "\(isWeak ? "W/" : "")\"\(opaqueTag)\"" }
}

extension EntityTag: Hashable {
    /// Returns whether both tags have the same octets and are both weak or both strong.
    public static func == (left: Self, right: Self) -> Bool {
        left.isWeak == right.isWeak && left.matchesWeakly(right)
    }

    /// Hashes the octets and whether the tag is weak, so that equal tags hash alike.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(isWeak)
        opaqueTag.hashBytes(into: &hasher)
    }
}

extension EntityTag {
    /// The condition of an If-Match or If-None-Match field (RFC 9110 §13.1.1, §13.1.2).
    public enum Condition: Hashable, Sendable {
        /// Any existing representation, `*`.
        case any
        /// Representations with one of these tags.
        case tags([EntityTag])

        /// Creates a condition from a field value, or nil if it is malformed or contains no tag.
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

        /// The condition as a field value.
        public var fieldValue: String {
            switch self {
            case .any: "*"
            case .tags(let tags): tags.map(\.fieldValue).joined(separator: ", ")
            }
        }
    }
}
