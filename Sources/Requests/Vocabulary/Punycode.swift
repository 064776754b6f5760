/// The ASCII form of labels with other characters (RFC 3492).
package enum Punycode {
    /// Returns the label in lower case and, if it has characters outside ASCII, in its ASCII form with `xn--`.
    ///
    /// A label that cannot be encoded, because it is longer than a label of DNS, is returned unchanged.
    package static func label(_ label: String) -> String {
        let text = label.lowercased()
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
        return encoded(Array(text.unicodeScalars)).map { "xn--" + $0 } ?? text
    }

    /// Returns the encoded form of at most 63 scalars, the length of a label.
    private static func encoded(_ scalars: [Unicode.Scalar]) -> String? {
        guard scalars.count <= 63 else { return nil }
        let basic = scalars.filter(\.isASCII)
        var output = String(String.UnicodeScalarView(basic)) + (basic.isEmpty ? "" : "-")
        var (code, delta, bias, handled) = (UInt32(128), 0, 72, basic.count)
        while handled < scalars.count {
            guard let next = scalars.map(\.value).filter({ $0 >= code }).min() else { return nil }
            // At most 63 characters and 0x110000 codes, so that nothing overflows.
            delta += Int(next - code) * (handled + 1)
            code = next
            for scalar in scalars {
                if scalar.value < code { delta += 1 }
                guard scalar.value == code else { continue }
                write(delta, bias, to: &output)
                bias = adapted(delta, handled + 1, isFirst: handled == basic.count)
                delta = 0
                handled += 1
            }
            delta += 1
            code += 1
        }
        return output
    }

    /// Writes a number with digits of variable weight (RFC 3492 §6.3).
    private static func write(_ number: Int, _ bias: Int, to output: inout String) {
        var (remainder, weight) = (number, 36)
        while true {
            let threshold = min(max(weight - bias, 1), 26)
            guard remainder >= threshold else { break }
            output.unicodeScalars.append(digit(threshold + (remainder - threshold) % (36 - threshold)))
            remainder = (remainder - threshold) / (36 - threshold)
            weight += 36
        }
        output.unicodeScalars.append(digit(remainder))
    }

    private static func digit(_ value: Int) -> Unicode.Scalar {
        Unicode.Scalar(UInt8(value < 26 ? 0x61 + value : 0x30 + value - 26))
    }

    /// Returns the bias after a number (RFC 3492 §6.1).
    private static func adapted(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var weight = 0
        while delta > 455 {
            delta /= 35
            weight += 36
        }
        return weight + 36 * delta / (delta + 38)
    }
}
