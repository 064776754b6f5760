import Requests

/// The differences between two JSON values, by path.
struct JSONDifference {
    /// The maximum size of a body that is compared as JSON.
    static let maximumBytes = 4 << 20

    /// The path of the difference, such as `.users[0].name`; empty for the whole value.
    let path: String
    let expected: JSONValue?
    let received: JSONValue?
    /// Whether a name in the path marks a secret.
    let isSecret: Bool

    /// Returns the first differences between two values, at most `limit`, with members sorted by name.
    static func all(_ expected: JSONValue, _ received: JSONValue, limit: Int) -> [JSONDifference] {
        var found: [JSONDifference] = []
        // A list in place of recursion, because values can be nested deeply.
        var open = [JSONDifference(path: "", expected: expected, received: received, isSecret: false)]
        while let next = open.popLast(), found.count < limit {
            switch (next.expected, next.received) {
            case (.object(let left), .object(let right)):
                let (lefts, rights) = (members(of: left), members(of: right))
                let names = Set(lefts.keys).union(rights.keys).sorted { $0.text > $1.text }
                open += names.filter { mayDiffer(lefts[$0], rights[$0]) }.map { name in
                    let isSecret = Redaction.standard.isSecret(name.text)
                    return JSONDifference(
                        path: "\(next.path).\(name.text)", expected: lefts[name], received: rights[name],
                        isSecret: next.isSecret || isSecret)
                }
            case (.array(let lefts), .array(let rights)):
                let count = max(lefts.count, rights.count)
                var differing: [JSONDifference] = []
                var certain = 0
                for index in 0..<count where certain < limit {
                    // Not `nil`, which would be the JSON value null here.
                    let left = index < lefts.count ? lefts[index] : Optional.none
                    let right = index < rights.count ? rights[index] : Optional.none
                    guard mayDiffer(left, right) else { continue }
                    if !areContainers(left, right) { certain += 1 }
                    differing.append(
                        JSONDifference(
                            path: "\(next.path)[\(index)]", expected: left, received: right, isSecret: next.isSecret))
                }
                open += differing.reversed()
            case (let left, let right) where !ExactJSON.areEqual(left, right): found.append(next)
            default: break
            }
        }
        return found
    }

    /// Returns whether two values differ, or may differ in their parts.
    ///
    /// The parts of containers are compared later: comparing them here too would take time at every level.
    private static func mayDiffer(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
        areContainers(left, right) || !ExactJSON.areEqual(left, right)
    }

    /// Returns whether both values are objects, or both are arrays.
    private static func areContainers(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
        switch (left, right) {
        case (.object, .object), (.array, .array): true
        default: false
        }
    }

    /// Returns the members, with names that are compared by their bytes.
    private static func members(of object: [String: JSONValue]) -> [ByteText: JSONValue] {
        Dictionary(object.map { (ByteText($0), $1) }) { first, _ in first }
    }
}
