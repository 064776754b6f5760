#if canImport(FoundationEssentials)
// FoundationEssentials cannot normalize, and Foundation would link ICU; the standard library has the algorithm.
@_spi(_Unicode) internal import Swift

enum NormalizedText {
    /// Returns `text` in normalization form C.
    static func composed(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: text._nfc)
        return String(scalars)
    }
}
#else
enum NormalizedText {
    /// Returns `text` in normalization form C.
    static func composed(_ text: String) -> String { text.precomposedStringWithCanonicalMapping }
}
#endif
