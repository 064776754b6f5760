/// Any JSON text as a value, for responses whose shape is not known in advance (RFC 8259).
///
/// Whole numbers that fit are kept exactly when they are written without fraction and exponent; all others are
/// `Double`, and `1` equals `1.0`. A number too small for `Double` is 0, one too great an error. The order of members is
/// not kept.
///
/// Of members with the same name the first is kept, however the text is read: with ``init(parsing:)``, through
/// `.jsonValue`, `.json(JSONValue.self)` and `.ndjson(JSONValue.self)`, and as a property of a `Decodable` type, where
/// `JSONDecoder` has the same rule. Strings compare as Swift strings do, by canonical equivalence: two members whose
/// names differ only in their normalization are ``JSONSyntaxError/Problem/equivalentNames``; `JSONDecoder`, within a
/// `Decodable` type, takes such names for the same.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without fraction and exponent that fits.
    case integer(Int)
    /// Any other number.
    case number(Double)
    /// A text.
    case string(String)
    /// Values in order.
    case array([JSONValue])
    /// Values by name.
    case object([String: JSONValue])
}

extension JSONValue {
    /// Whether this is `null`.
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The value of a `true` or `false`; nil for anything else.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The value of a number that is whole and fits; nil for anything else.
    public var int: Int? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int(exactly: value)
        default: nil
        }
    }

    /// The value of a number; nil for anything else.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The value of a text; nil for anything else.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The elements of an array; nil for anything else.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The members of an object; nil for anything else.
    public var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }

    /// The members of an object; of anything else an object that holds it as `data`.
    public var asObject: [String: JSONValue] { object ?? ["data": self] }

    /// A text, number or boolean as text; nil for anything else.
    public var text: String? {
        switch self {
        case .string(let value): value
        case .integer(let value): String(value)
        case .number(let value): String(value)
        case .bool(let value): String(value)
        default: nil
        }
    }
}

extension JSONValue {
    /// One step from a value to one within it: a name, or an index, as a literal.
    public enum Step: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
        /// The member of an object.
        case key(String)
        /// The element of an array, counted from 0.
        case index(Int)

        /// The member called like the literal.
        public init(stringLiteral value: String) { self = .key(value) }

        /// The element at the literal's position.
        public init(integerLiteral value: Int) { self = .index(value) }
    }

    /// The value at the end of a path, `json["user", "tags", 0]`; nil where the path leads nowhere.
    ///
    /// Setting replaces what is there; nil removes it. Objects on the way are made where there is nothing or `null`, an
    /// array grows by one when the index is its length; a path through anything else changes nothing.
    public subscript(path: Step...) -> JSONValue? {
        get { value(at: path[...]) }
        set { set(newValue, at: path[...]) }
    }

    private func value(at path: ArraySlice<Step>) -> JSONValue? {
        var value = self
        for step in path {
            switch (value, step) {
            case (.object(let members), .key(let key)):
                guard let member = members[key] else { return nil }
                value = member
            case (.array(let elements), .index(let index)) where elements.indices.contains(index):
                value = elements[index]
            default: return nil
            }
        }
        return value
    }

    private mutating func set(_ value: JSONValue?, at path: ArraySlice<Step>) {
        guard let step = path.first else {
            self = value ?? .null
            return
        }
        switch (self, step) {
        case (.object(var members), .key(let key)):
            members[key] = Self.changing(members[key], to: value, at: path.dropFirst())
            self = .object(members)
        case (.null, .key(let key)):
            guard let member = Self.changing(nil, to: value, at: path.dropFirst()) else { return }
            self = .object([key: member])
        case (.array(var elements), .index(let index)) where elements.indices.contains(index):
            if let element = Self.changing(elements[index], to: value, at: path.dropFirst()) {
                elements[index] = element
            } else {
                elements.remove(at: index)
            }
            self = .array(elements)
        case (.array(let elements), .index(let index)) where index == elements.count:
            self = .array(elements + [Self.changing(nil, to: value, at: path.dropFirst())].compactMap { $0 })
        default: break
        }
    }

    private static func changing(_ old: JSONValue?, to value: JSONValue?, at path: ArraySlice<Step>) -> JSONValue? {
        if path.isEmpty { return value }
        var changed = old ?? .null
        changed.set(value, at: path)
        return old == nil && changed.isNull ? Optional.none : changed
    }

    /// This value without the members that are `null`, at every depth; with `fromArrays` without such elements as well.
    public func removingNulls(fromArrays: Bool = false) -> JSONValue {
        var builder = JSONBuilder()
        for step in JSONWalk(self) {
            switch step {
            case .begin(.null, let name, _) where name != nil || fromArrays && builder.isInObject == false: break
            case .begin(let value, let name, _):
                if let name { builder.name(name) }
                switch value {
                case .array: builder.begin(isObject: false)
                case .object: builder.begin(isObject: true)
                default: builder.append(value)
                }
            case .end: builder.end()
            }
        }
        return builder.value ?? .null
    }
}

extension JSONValue: Hashable {
    /// Whether both are the same JSON; numbers by their value, however they are written.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        var pairs = [(left, right)]
        while let pair = pairs.popLast() {
            switch pair {
            case (.array(let left), .array(let right)):
                guard left.count == right.count else { return false }
                for pair in zip(left, right) where !areEqualScalars(pair.0, pair.1, orAppendTo: &pairs) { return false }
            case (.object(let left), .object(let right)):
                guard left.count == right.count else { return false }
                for (name, value) in left {
                    guard let other = right[name], areEqualScalars(value, other, orAppendTo: &pairs) else {
                        return false
                    }
                }
            default: if !areEqualScalars(pair.0, pair.1, orAppendTo: &pairs) { return false }
            }
        }
        return true
    }

    /// Whether two scalars are equal; two containers of the same kind are appended to `pairs`, to be compared later.
    private static func areEqualScalars(
        _ left: JSONValue, _ right: JSONValue, orAppendTo pairs: inout [(JSONValue, JSONValue)]
    ) -> Bool {
        switch (left, right) {
        case (.null, .null): return true
        case (.bool(let left), .bool(let right)): return left == right
        case (.integer(let left), .integer(let right)): return left == right
        case (.number(let left), .number(let right)): return left == right
        case (.integer(let integer), .number(let number)), (.number(let number), .integer(let integer)):
            return Int(exactly: number) == integer
        case (.string(let left), .string(let right)): return left == right
        case (.array, .array), (.object, .object):
            pairs.append((left, right))
            return true
        default: return false
        }
    }

    /// Hashes equal values alike.
    public func hash(into hasher: inout Hasher) {
        for step in JSONWalk(self) {
            guard case .begin(let value, let name, _) = step else {
                hasher.combine(0)
                continue
            }
            if let name { hasher.combine(name) }
            value.hashBeginning(into: &hasher)
        }
    }

    /// Hashes a scalar, or the kind of a container.
    private func hashBeginning(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .number(let value):
            if let integer = Int(exactly: value) { hasher.combine(integer) } else { hasher.combine(value) }
        case .string(let value): hasher.combine(value)
        case .array: hasher.combine(1)
        case .object: hasher.combine(2)
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// `null`.
    public init(nilLiteral: ()) { self = .null }

    /// `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// A whole number.
    public init(integerLiteral value: Int) { self = .integer(value) }

    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }

    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Values in order.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Values by name; of a name said twice the last.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}
