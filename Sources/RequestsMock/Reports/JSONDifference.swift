import Requests

/// The differences between two JSON values, by path.
struct JSONDifference {
    /// The maximum size of a body that is compared as JSON.
    static let maximumBytes = 4 << 20

    /// The path of the difference, such as `.users[0].name`; empty for the whole value.
    let path: String
    let expected: JSONValue?
    let received: JSONValue?
    /// Whether a name in the path is that of a secret.
    let isSecret: Bool

    /// Returns the first differences between two values, at most `limit`, with members sorted by name.
    static func all(_ expected: JSONValue, _ received: JSONValue, limit: Int) -> [JSONDifference] {
        var found: [JSONDifference] = []
        // A list in place of recursion, because values can be nested deeply.
        var open = [JSONDifference(path: "", expected: expected, received: received, isSecret: false)]
        while let next = open.popLast(), found.count < limit {
            switch (next.expected, next.received) {
            case (.object(let left), .object(let right)):
                let names = Set(left.keys).union(right.keys).sorted(by: >)
                open += names.filter { left[$0] != right[$0] }.map { name in
                    let isSecret = Redaction.standard.queryItemNames.contains(CaseInsensitiveString(name))
                    return JSONDifference(
                        path: "\(next.path).\(name)", expected: left[name], received: right[name],
                        isSecret: next.isSecret || isSecret)
                }
            case (.array(let left), .array(let right)):
                let count = max(left.count, right.count)
                var differing: [JSONDifference] = []
                for index in 0..<count where differing.count < limit {
                    let (left, right) = (
                        index < left.count ? left[index] : nil, index < right.count ? right[index] : nil
                    )
                    guard left != right else { continue }
                    differing.append(
                        JSONDifference(
                            path: "\(next.path)[\(index)]", expected: left, received: right, isSecret: next.isSecret))
                }
                open += differing.reversed()
            case (let left, let right) where left != right: found.append(next)
            default: break
            }
        }
        return found
    }
}
