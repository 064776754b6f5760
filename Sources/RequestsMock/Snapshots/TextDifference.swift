import Requests

/// The differences between two texts, as lines with a mark and a few equal lines around them.
struct TextDifference {
    /// The lines, which begin with `- ` (expected), `+ ` (received) or two spaces (equal).
    private(set) var lines: [String] = []

    /// The number of equal lines shown beside a difference.
    private static let context = 3
    /// The maximum number of lines shown.
    private static let limit = 100
    /// The maximum product of the line counts up to which texts are compared line by line, because the time grows with
    /// it.
    private static let comparedLimit = 1_000_000

    init(expected: String, received: String) {
        let left = Self.lines(of: expected)
        let right = Self.lines(of: received)
        let start = zip(left, right).prefix { $0 == $1 }.count
        let end = zip(left.dropFirst(start).reversed(), right.dropFirst(start).reversed()).prefix { $0 == $1 }.count
        let (leftMiddle, rightMiddle) = (left[start..<left.count - end], right[start..<right.count - end])
        if start > Self.context { lines.append("  …") }
        for line in left[max(0, start - Self.context)..<start] { add("  ", line) }
        compare(Array(leftMiddle), Array(rightMiddle))
        for line in left[(left.count - end)...].prefix(Self.context) { add("  ", line) }
        if lines.count > Self.limit {
            lines = Array(lines.prefix(Self.limit)) + ["… and \(lines.count - Self.limit) more lines"]
        }
    }

    private static func lines(of text: String) -> [ByteText] {
        text.splitBytes(at: "\n", omittingEmptySubsequences: false).map { ByteText(String($0)) }
    }

    private mutating func compare(_ left: [ByteText], _ right: [ByteText]) {
        guard left.count * right.count <= Self.comparedLimit else {
            for line in left.prefix(Self.limit / 2) { add("- ", line) }
            for line in right.prefix(Self.limit / 2) { add("+ ", line) }
            return
        }
        let difference = right.difference(from: left)
        var removed: Set<Int> = []
        var inserted: Set<Int> = []
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): inserted.insert(offset)
            }
        }
        var (old, new) = (0, 0)
        while old < left.count || new < right.count {
            if old < left.count, removed.contains(old) {
                add("- ", left[old])
                old += 1
            } else if new < right.count, inserted.contains(new) {
                add("+ ", right[new])
                new += 1
            } else {
                add("  ", left[old])
                (old, new) = (old + 1, new + 1)
            }
        }
    }

    private mutating func add(_ mark: String, _ line: ByteText) {
        // Control characters, and invisible ones such as U+FEFF, would change the terminal or hide a difference.
        let visible = line.text.unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .format ? scalar.escaped(asASCII: true) : String(scalar)
        }
        let quoted = ErrorText.quoted(visible.joined(), limit: 400).unicodeScalars
        lines.append(mark + String(quoted.dropFirst().dropLast()))
    }
}
