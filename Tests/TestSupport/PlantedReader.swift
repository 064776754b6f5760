import Requests

/// A reader of foreign text that must not miss a delimiter because a mark is behind it.
///
/// A mark behind a delimiter makes another `Character` of the two, but it is only the beginning of what follows.
package struct PlantedReader: CustomStringConvertible, Sendable {
    /// A combining mark, a joiner, a variation selector.
    package static let marks: [Unicode.Scalar] = ["\u{301}", "\u{200D}", "\u{FE0F}"]

    /// A scalar that is no part of another Character, and as little a delimiter or token as the marks are.
    private static let neutral: Unicode.Scalar = "\u{E000}"

    package let description: String
    private let samples: [String]
    private let parts: @Sendable (String) -> [String]

    /// - Parameters:
    ///   - name: What it reads.
    ///   - samples: Texts in which marks are planted.
    ///   - parts: The parts of the structure that is read of a text.
    package init(_ name: String, samples: [String], parts: @escaping @Sendable (String) -> [String]) {
        description = name
        self.samples = samples
        self.parts = parts
    }

    /// The places at which a mark has another effect than the neutral scalar has.
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

    /// `octets` with the neutral scalar replaced by `mark`, percent-encoded or not.
    private static func replaced(_ octets: [UInt8], with mark: Unicode.Scalar) -> [UInt8] {
        func encoded(_ scalar: Unicode.Scalar) -> [UInt8] { Array(PercentEncoding.strict.encode(String(scalar)).utf8) }
        return octets.replacing(Array(String(neutral).utf8), with: Array(String(mark).utf8))
            .replacing(encoded(neutral), with: encoded(mark))
    }
}
