/// A JSON value of any kind, for responses whose structure is not known in advance (RFC 8259).
///
/// A number without fraction and exponent that fits `Int` is kept exactly. All others are `Double`, and `1` equals
/// `1.0`. A number too small for `Double` becomes 0; one that is too large is an error. The order of members is not
/// kept.
///
/// If members have the same name, the first is kept in every way of reading: with ``init(parsing:)``, through
/// `.jsonValue`, `.json(JSONValue.self)` and `.ndjson(JSONValue.self)`, and as a property of a `Decodable` type, where
/// `JSONDecoder` follows the same rule. Strings are compared like Swift strings, by canonical equivalence. Two members
/// whose names differ only in their normalization are an error,
/// ``JSONValue/SyntaxError/Problem/equivalentNames``; within a `Decodable` type, `JSONDecoder` treats such names as
/// equal.
public enum JSONValue: Sendable {
    /// The value `null`.
    case null
    /// A boolean, `true` or `false`.
    case bool(Bool)
    /// A number without fraction and exponent that fits `Int`.
    case integer(Int)
    /// Any other number.
    case number(Double)
    /// A string.
    case string(String)
    /// An array of values.
    case array([JSONValue])
    /// An object: values by name.
    case object([String: JSONValue])
}

extension JSONValue {
    /// Whether the value is `null`.
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The boolean, or nil for other kinds of value.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The number, or nil for a number that is not integral or does not fit `Int` and for other kinds of value.
    public var int: Int? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int(exactly: value)
        default: nil
        }
    }

    /// The number, or nil for other kinds of value.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The string, or nil for other kinds of value.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The elements of the array, or nil for other kinds of value.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The members of the object, or nil for other kinds of value.
    public var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }

    /// The members of the object; for other kinds of value, the single member `data` with this value.
    public var asObject: [String: JSONValue] { object ?? ["data": self] }

    /// The string, number or boolean as text, or nil for other kinds of value.
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
    /// One component of a path into a value, written as a literal: a name or an index.
    public enum PathComponent: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
        /// The member of an object.
        case key(String)
        /// The element of an array, counted from 0.
        case index(Int)

        /// Creates a component for the member with the name `value`.
        public init(stringLiteral value: String) { self = .key(value) }

        /// Creates a component for the element at the index `value`.
        public init(integerLiteral value: Int) { self = .index(value) }
    }

    /// The value at a path such as `json["user", "tags", 0]`, or nil if there is none.
    ///
    /// Setting a value replaces the one at the path; setting nil removes it. Missing or `null` objects along the path
    /// are created, and an index equal to the length of an array appends. Setting has no effect if the path leads
    /// through any other value.
    public subscript(path: PathComponent...) -> JSONValue? {
        get { value(at: path[...]) }
        set { set(newValue, at: path[...]) }
    }

    private func value(at path: ArraySlice<PathComponent>) -> JSONValue? {
        var value = self
        for component in path {
            switch (value, component) {
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

    private mutating func set(_ value: JSONValue?, at path: ArraySlice<PathComponent>) {
        guard let component = path.first else {
            self = value ?? .null
            return
        }
        switch (self, component) {
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

    /// Returns `old` with `value` at `path`, or nil if no value remains.
    private static func changing(
        _ old: JSONValue?, to value: JSONValue?, at path: ArraySlice<PathComponent>
    ) -> JSONValue? {
        if path.isEmpty { return value }
        var changed = old ?? .null
        changed.set(value, at: path)
        // If a missing value is still `null`, nothing was set below it.
        return old == nil && changed.isNull ? Optional.none : changed
    }

    /// Returns this value without members that are `null`, at every depth.
    ///
    /// - Parameter fromArrays: Whether elements of arrays that are `null` are removed as well.
    /// - Returns: The value without them.
    public func removingNulls(fromArrays: Bool = false) -> JSONValue {
        var builder = JSONBuilder()
        for event in JSONWalk(self) {
            switch event {
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
    /// Returns whether both values are the same JSON; numbers are compared by value, so `1` equals `1.0`.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        // A list of pairs in place of recursion: equality of deeply nested values must not overflow the stack.
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

    /// Returns whether two scalars are equal, or appends two containers of the same kind to `pairs` and returns true.
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

    /// Hashes the value, so that equal values hash alike.
    public func hash(into hasher: inout Hasher) {
        for event in JSONWalk(self) {
            guard case .begin(let value, let name, _) = event else {
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
            // `1` and `1.0` are equal and must hash alike.
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
    /// Creates the value `null`.
    public init(nilLiteral: ()) { self = .null }

    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// Creates an integer.
    public init(integerLiteral value: Int) { self = .integer(value) }

    /// Creates a number.
    public init(floatLiteral value: Double) { self = .number(value) }

    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Creates an object; if a name is repeated, the last value is kept.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}
