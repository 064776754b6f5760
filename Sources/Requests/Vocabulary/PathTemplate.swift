/// A path as it is sent, and how it reads with `{}` in the place of each interpolated value.
///
/// Few ask for the template and every request has one, so that it is kept as where the values stand; its text is written
/// when it is asked for.
struct PathTemplate: Sendable {
    /// The path, percent-encoded.
    let path: String

    /// The template, where the places of the values do not tell it.
    private let written: String?

    // Two bytes for each of up to four values, the first the lowest: how many bytes stand before it, and its own.
    private let places: UInt64
    private let count: UInt8

    /// A path without values; `text` is how it was written, nil when that is no other text.
    init(path: String, text: String?) {
        self.path = path
        written = text.flatMap { $0.hasSameBytes(as: path) ? nil : $0 }
        (places, count) = (0, 0)
    }

    /// The path that `writer` has written.
    init(_ writer: PathWriter) {
        path = writer.path
        written = writer.template
        places = writer.places
        count = writer.count
    }

    /// The path with `{}` in the place of each value.
    var text: String {
        if let written { return written }
        return Self.text(of: path, places, count)
    }

    /// The template of `path`, in which `count` values stand at `places`.
    static func text(of path: String, _ places: UInt64, _ count: UInt8) -> String {
        if count == 0 { return path }
        var text = ""
        var rest = path[...]
        for index in 0..<count {
            let place = places >> (UInt64(index) * 16)
            text += take(Int(place & 0xFF), of: &rest) + "{}"
            _ = take(Int(place >> 8 & 0xFF), of: &rest)
        }
        return text + rest
    }

    private static func take(_ count: Int, of text: inout Substring) -> Substring {
        let end = text.utf8.index(text.startIndex, offsetBy: count)
        defer { text = text[end...] }
        return text[..<end]
    }
}

extension PathTemplate: Equatable {
    static func == (left: Self, right: Self) -> Bool {
        guard left.path.hasSameBytes(as: right.path) else { return false }
        if left.written == nil, right.written == nil, left.count == right.count, left.places == right.places {
            return true
        }
        return left.text.hasSameBytes(as: right.text)
    }
}
