/// A record of the newest elements, with limits on their number and total size.
///
/// When a limit is exceeded, the oldest elements are removed, down to nine tenths of the limit, so that recording stays
/// fast and ``elements`` is a contiguous array. The newest element is kept whatever its size, unless the maximum count
/// is 0.
package struct BoundedRecord<Element: Sendable>: Sendable {
    /// The recorded elements, oldest first.
    package private(set) var elements: [Element] = []
    /// The number of elements that were recorded, including removed ones.
    package private(set) var total = 0

    private var sizes: [Int] = []
    private var size = 0
    private let countLimit: Int
    private let sizeLimit: Int

    /// Creates an empty record of at most `count` elements whose sizes sum to at most `size`; negative limits count as
    /// 0.
    package init(count: Int, size: Int) {
        countLimit = max(0, count)
        sizeLimit = max(0, size)
    }

    /// Records `element`, and returns its number for ``update(_:addingSize:_:)``.
    @discardableResult
    package mutating func append(_ element: consuming Element, size: Int) -> Int {
        total += 1
        guard countLimit > 0 else { return total - 1 }
        elements.append(element)
        sizes.append(size)
        self.size += size
        trim()
        return total - 1
    }

    /// Changes the element with the number `index` in place and adds `more` to its size, unless it has been removed.
    ///
    /// - Returns: Whether the element exists.
    @discardableResult
    package mutating func update(_ index: Int, addingSize more: Int = 0, _ body: (inout Element) -> Void) -> Bool {
        let position = index - (total - elements.count)
        // Not `indices.contains`, which looks up the types of this generic code in each call.
        guard position >= 0, position < elements.count else { return false }
        body(&elements[position])
        sizes[position] += more
        size += more
        trim()
        return true
    }

    /// Removes the oldest elements if a limit is exceeded.
    private mutating func trim() {
        guard elements.count > countLimit || size > sizeLimit else { return }
        let (countGoal, sizeGoal) = (countLimit - countLimit / 10, sizeLimit - sizeLimit / 10)
        let isFull = elements.count > countLimit
        var removed = 0
        while removed < elements.count - 1,
            isFull && elements.count - removed > countGoal || size > (removed == 0 ? sizeLimit : sizeGoal)
        {
            size -= sizes[removed]
            removed += 1
        }
        elements.removeFirst(removed)
        sizes.removeFirst(removed)
    }
}
