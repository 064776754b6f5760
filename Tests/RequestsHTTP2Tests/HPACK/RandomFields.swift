/// Lists of fields in which names and values repeat, as in messages, and some have odd bytes.
enum RandomFields {
    private static let names = [
        ":method", ":path", ":status", "accept", "cookie", "authorization", "x-a", "x-ab", "x-request-id", "",
        "content-length", "if-schedule-tag-match",
    ].map { Array($0.utf8) }

    private static let values = ["", "a", "GET", "/", "200", "text/html; charset=utf-8", "\u{e9}"].map {
        Array($0.utf8)
    }

    /// Returns up to 12 fields, whose names have no upper-case letters.
    static func list(_ random: inout some RandomNumberGenerator) -> [FieldBytes] {
        (0..<Int.random(in: 0...12, using: &random)).map { _ in field(&random) }
    }

    private static func field(_ random: inout some RandomNumberGenerator) -> FieldBytes {
        var (name, value) = (names.randomElement(using: &random) ?? [], values.randomElement(using: &random) ?? [])
        switch Int.random(in: 0..<8, using: &random) {
        case 0: value = bytes(&random, count: 0...40)
        case 1: value = Array("\(Int.random(in: 0..<100, using: &random))".utf8)
        case 2: name = Array("x-\(Int.random(in: 0..<100, using: &random))".utf8)
        case 3: value = [UInt8](repeating: 0x61, count: Int.random(in: 0...5000, using: &random))
        default: break
        }
        return FieldBytes(name, value)
    }

    /// Returns random bytes.
    static func bytes(_ random: inout some RandomNumberGenerator, count: ClosedRange<Int>) -> [UInt8] {
        (0..<Int.random(in: count, using: &random)).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }
}
