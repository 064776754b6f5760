/// Looks for a boundary in bytes (Horspool's way: it skips most of them).
struct BoundarySearch {
    private let boundary: [UInt8]
    /// How far to move on after the last byte looked at was this one.
    private let skips: [Int]

    init(_ boundary: String) {
        let bytes = Array(boundary.utf8)
        var skips = Array(repeating: bytes.count, count: 256)
        for (index, byte) in bytes.dropLast().enumerated() { skips[Int(byte)] = bytes.count - 1 - index }
        self.boundary = bytes
        self.skips = skips
    }

    /// Whether `content` holds the boundary anywhere.
    func isFound(in content: Data) -> Bool {
        guard content.count >= boundary.count, !boundary.isEmpty else { return false }
        return content.withUnsafeBytes { bytes in
            var end = boundary.count - 1
            while end < bytes.count {
                let start = end - boundary.count + 1
                if bytes[end] == boundary[boundary.count - 1], bytes[start...end].elementsEqual(boundary) {
                    return true
                }
                end += skips[Int(bytes[end])]
            }
            return false
        }
    }
}

extension MultipartPart {
    /// Whether the content is in memory and holds the boundary.
    func holds(_ boundary: BoundarySearch) -> Bool {
        if case .body(.bytes(let data)) = content { boundary.isFound(in: data) } else { false }
    }
}
