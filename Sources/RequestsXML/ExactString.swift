/// A string that equals only a string of the same code points, where `String` compares by canonical equivalence.
struct ExactString: Hashable, Comparable, Sendable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (left: ExactString, right: ExactString) -> Bool {
        areEqual(left.text, right.text)
    }

    static func < (left: ExactString, right: ExactString) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // No byte of UTF-8, so that two strings in a row are told apart.
        hasher.combine(0xFF as UInt8)
    }

    static func areEqual(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
        left.utf8.elementsEqual(right.utf8)
    }
}
