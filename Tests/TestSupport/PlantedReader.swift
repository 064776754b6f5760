import Requests

/// A reader of foreign text that must find every delimiter, even one with a combining mark after it.
///
/// A mark after a delimiter forms another `Character` with it, but belongs to the text that follows.
package struct PlantedReader: CustomStringConvertible, Sendable {
    /// A combining mark, a joiner, a variation selector.
    package static let marks: [Unicode.Scalar] = ["\u{301}", "\u{200D}", "\u{FE0F}"]

    /// A scalar that never joins another `Character` and, like the marks, is neither a delimiter nor a token.
    private static let neutral: Unicode.Scalar = "\u{E000}"

    package let description: String
    private let samples: [String]
    private let parts: @Sendable (String) -> [String]

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - name: The name of the format that it reads.
    ///   - samples: The texts in which marks are planted.
    ///   - parts: Returns the parts that the reader finds in a text.
    package init(_ name: String, samples: [String], parts: @escaping @Sendable (String) -> [String]) {
        description = name
        self.samples = samples
        self.parts = parts
    }

    /// The places at which a mark has another effect than the neutral scalar.
    package var differences: [String] {
        samples.flatMap { sample in
            let octets = Array(sample.utf8)
            return (0...octets.count).flatMap { place in
                Self.marks.compactMap { mark in
                    let expected = parts(Self.planted(Self.neutral, in: octets, at: place)).map { part in
                        Self.replaced(Array(part.utf8), with: mark)
                    }
                    let actual = parts(Self.planted(mark, in: octets, at: place)).map { Array($0.utf8) }
                    return actual == expected ? nil : "U+\(String(mark.value, radix: 16)) at \(place) of \(sample)"
                }
            }
        }
    }

    private static func planted(_ scalar: Unicode.Scalar, in octets: [UInt8], at place: Int) -> String {
        String(decoding: octets[..<place] + Array(String(scalar).utf8) + octets[place...], as: UTF8.self)
    }

    /// Returns `octets` with the neutral scalar replaced by `mark`, percent-encoded or not.
    private static func replaced(_ octets: [UInt8], with mark: Unicode.Scalar) -> [UInt8] {
        func encoded(_ scalar: Unicode.Scalar) -> [UInt8] { Array(PercentEncoding.strict.encode(String(scalar)).utf8) }
        return octets.replacing(Array(String(neutral).utf8), with: Array(String(mark).utf8))
            .replacing(encoded(neutral), with: encoded(mark))
    }
}
