/// A search for a boundary in bytes by Horspool's algorithm, which skips most of them.
struct BoundarySearch {
    private let boundary: [UInt8]
    /// The number of bytes to move forward, indexed by the value of the last compared byte.
    private let skips: [Int]

    init(_ boundary: String) {
        let bytes = Array(boundary.utf8)
        var skips = Array(repeating: bytes.count, count: 256)
        for (index, byte) in bytes.dropLast().enumerated() { skips[Int(byte)] = bytes.count - 1 - index }
        self.boundary = bytes
        self.skips = skips
    }

    /// Returns whether `content` contains the boundary.
    func isFound(in content: Data) -> Bool {
        guard content.count >= boundary.count, !boundary.isEmpty else { return false }
        // Plain memory, because subscripting `Data` checks its storage and bounds for each byte.
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

extension MultipartForm.Part {
    /// Returns whether the content is in memory and contains the boundary.
    func contains(_ boundary: BoundarySearch) -> Bool {
        if case .body(.bytes(let data)) = content { boundary.isFound(in: data) } else { false }
    }
}
