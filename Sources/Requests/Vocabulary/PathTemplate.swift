/// A path as it is sent, and its template, which has `{}` in place of each interpolated value.
///
/// Every request has a template, but few callers read it. Only the positions of the values are stored, and the text is
/// created on access, which saves 2 of 10 allocations for a described request.
struct PathTemplate: Sendable {
    /// The path, percent-encoded.
    let path: String

    /// The text of the template if the positions of the values cannot express it; empty otherwise.
    private let written: String
    /// Whether `written` is the template's text.
    // In place of an optional string, which takes twice as long to copy and to release.
    private let isWritten: Bool

    // 16 bits for each of up to four values, the first in the lowest. The low byte is the number of bytes between the
    // previous value and this one, the high byte the number of bytes of the value.
    private let places: UInt64
    private let count: UInt8

    /// Creates a template of a path without values.
    ///
    /// - Parameters:
    ///   - path: The path, percent-encoded.
    ///   - text: The path as it was written, or nil if it is the same text.
    init(path: String, text: String?) {
        self.path = path
        isWritten = text.map { !$0.hasSameBytes(as: path) } ?? false
        written = isWritten ? text ?? "" : ""
        (places, count) = (0, 0)
    }

    /// Creates a template from the path that `writer` has written.
    init(_ writer: PathWriter) {
        path = writer.path
        written = writer.template ?? ""
        isWritten = writer.template != nil
        places = writer.places
        count = writer.count
    }

    /// The path with `{}` in place of each value.
    var text: String {
        if isWritten { return written }
        return Self.text(of: path, places, count)
    }

    /// Returns the template of `path`, which contains `count` values at `places`.
    static func text(of path: String, _ places: UInt64, _ count: UInt8) -> String {
        if count == 0 { return path }
        var text = ""
        var remainder = path[...]
        for index in 0..<count {
            let place = places >> (UInt64(index) * 16)
            text += removePrefix(Int(place & 0xFF), from: &remainder) + "{}"
            _ = removePrefix(Int(place >> 8 & 0xFF), from: &remainder)
        }
        return text + remainder
    }

    /// Removes and returns the first `count` bytes of `text`.
    private static func removePrefix(_ count: Int, from text: inout Substring) -> Substring {
        let end = text.utf8.index(text.startIndex, offsetBy: count)
        defer { text = text[end...] }
        return text[..<end]
    }
}

extension PathTemplate: Equatable {
    /// Returns whether the paths and the templates are equal byte by byte.
    static func == (left: Self, right: Self) -> Bool {
        guard left.path.hasSameBytes(as: right.path) else { return false }
        if !left.isWritten, !right.isWritten, left.count == right.count, left.places == right.places {
            return true
        }
        return left.text.hasSameBytes(as: right.text)
    }
}
