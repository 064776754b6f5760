import Requests

/// The comparison of JSON for stubs: strings by their bytes, and integers exactly.
///
/// `JSONValue` rounds integers that do not fit `Int`, and compares strings by canonical equivalence, so it would treat
/// some different requests as equal.
enum ExactJSON {
    /// Returns the value of `data`, with each integer that does not fit `Int` as a string; nil if it is not JSON.
    static func value(parsing data: Data) -> JSONValue? {
        try? JSONValue(parsing: keepingIntegers(of: data))
    }

    /// The digits of the shortest integer that does not fit `Int`.
    private static let digits = 19

    private static func keepingIntegers(of data: Data) -> Data {
        var (kept, start) = (Data(), data.startIndex)
        var (isInString, position) = (false, data.startIndex)
        while position < data.endIndex {
            switch data[position] {
            case UInt8(ascii: "\\") where isInString: position += 1
            case UInt8(ascii: "\""): isInString.toggle()
            case 0x30...0x39 where !isInString, UInt8(ascii: "-") where !isInString:
                let number = data[position...].prefix { "+-.0123456789Ee".utf8.contains($0) }
                position = number.endIndex
                guard number.count >= digits, number.dropFirst().allSatisfy({ $0 &- 0x30 < 10 }) else { continue }
                let text = String(decoding: number, as: UTF8.self)
                if Int(text) != nil { continue }
                kept += data[start..<number.startIndex] + Data("\"number \(text)\"".utf8)
                start = position
                continue
            default: break
            }
            position += 1
        }
        // Most bodies have no such integer, and are not copied.
        return start == data.startIndex ? data : kept + data[start...]
    }

    /// Returns whether both values are the same JSON, in which the order of members does not matter.
    static func areEqual(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
        // A list of pairs instead of recursion, because values can be nested deeply.
        var pairs = [(left, right)]
        while let pair = pairs.popLast() {
            switch pair {
            case (.array(let left), .array(let right)):
                guard left.count == right.count else { return false }
                pairs += zip(left, right).map { ($0, $1) }
            case (.object(let left), .object(let right)):
                guard left.count == right.count else { return false }
                for (name, value) in left {
                    guard let index = right.index(forKey: name), right[index].key.hasSameBytes(as: name) else {
                        return false
                    }
                    pairs.append((value, right[index].value))
                }
            case (.string(let left), .string(let right)): if !left.hasSameBytes(as: right) { return false }
            case (let left, let right): if left != right { return false }
            }
        }
        return true
    }

    /// Returns a hash value that is the same for equal JSON values.
    static func hash(of value: JSONValue) -> Int {
        var sum = 0
        // A list instead of recursion, because values can be nested deeply; a sum, because the order of members does
        // not matter.
        var open = [(value: value, place: 0)]
        while let (value, place) = open.popLast() {
            var hasher = Hasher()
            hasher.combine(place)
            switch value {
            case .array(let elements):
                hasher.combine(elements.count)
                for (index, element) in elements.enumerated() { open.append((element, hash(of: index, in: place))) }
            case .object(let members):
                hasher.combine(members.count)
                for (name, member) in members { open.append((member, hash(of: ByteText(name), in: place))) }
            case .string(let text): hasher.combine(ByteText(text))
            // Integers and other numbers can be equal.
            default: hasher.combine(value.double)
            }
            sum &+= hasher.finalize()
        }
        return sum
    }

    /// Returns a hash value for the place of an element or a member in the container at `place`.
    private static func hash(of key: some Hashable, in place: Int) -> Int {
        var hasher = Hasher()
        hasher.combine(place)
        hasher.combine(key)
        return hasher.finalize()
    }
}
