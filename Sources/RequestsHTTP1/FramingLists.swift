import Requests

/// The options in all Connection fields that affect persistence (RFC 9110 §7.6.1).
struct ConnectionOptions {
    private(set) var closes = false
    private(set) var keepsAlive = false

    mutating func add(_ value: Span<UInt8>) {
        value.forEachElement { start, end in
            if value.isName("close", from: start, to: end) { closes = true }
            if value.isName("keep-alive", from: start, to: end) { keepsAlive = true }
        }
    }
}

/// The transfer codings in all Transfer-Encoding fields (RFC 9112 §6.1).
struct TransferCodings {
    /// Whether there is a field, even an empty one.
    private(set) var isPresent = false
    private(set) var count = 0
    private(set) var chunkedCount = 0
    private(set) var endsChunked = false

    mutating func add(_ value: Span<UInt8>) {
        isPresent = true
        value.forEachElement { start, end in
            count &+= 1
            endsChunked = value.isName("chunked", from: start, to: end)
            if endsChunked { chunkedCount &+= 1 }
        }
    }
}

/// The values in all Content-Length fields (RFC 9110 §8.6).
///
/// A list of identical digits counts as one value; different spellings of one number conflict.
struct ContentLength {
    private enum State {
        case absent
        case number(Int, digits: Int)
        case invalid(Violation)
    }

    private var state = State.absent

    var isPresent: Bool { if case .absent = state { false } else { true } }

    /// Returns the number on which all values agree, or nil if there are none.
    func number() throws(WireError) -> Int? {
        switch state {
        case .absent: nil
        case .number(let number, _): number
        case .invalid(let violation): throw .violation(violation)
        }
    }

    /// Adds the elements of a field; the first violation is final.
    mutating func add(_ value: Span<UInt8>) {
        var position = 0
        repeat {
            position = value.endOfBlanks(from: position)
            let start = position
            let number = value.decimal(at: &position)
            let digits = position &- start
            position = value.endOfBlanks(from: position)
            let isWhole = position == value.count || value[position] == TokenList.comma
            add(isWhole && digits > 0 ? number : nil, digits: digits)
            // The position after the comma. After a last comma, an empty element remains, which is invalid.
            position &+= 1
        } while position <= value.count
    }

    private mutating func add(_ number: Int?, digits: Int) {
        switch (state, number) {
        case (.invalid, _): break
        case (_, nil): state = .invalid(.contentLength)
        case (.absent, let number?): state = .number(number, digits: digits)
        case (.number(let agreed, let agreedDigits), let number?):
            // Equal numbers with different numbers of digits differ in leading zeros: they are different spellings.
            if agreed != number || agreedDigits != digits { state = .invalid(.conflictingLengths) }
        }
    }
}

extension Span<UInt8> {
    /// Returns the number that the digits at `position` form, and advances `position` to their end.
    ///
    /// - Returns: The number, which is 0 without digits; nil above `Int.max`.
    fileprivate func decimal(at position: inout Int) -> Int? {
        var (number, exceedsMaximum) = (0, false)
        while position < count {
            let digit = self[position] &- Octet.zero
            guard digit < 10 else { break }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int(digit))
            number = sum
            exceedsMaximum = exceedsMaximum || overflow || carry
            position &+= 1
        }
        return exceedsMaximum ? nil : number
    }

    /// Calls `body` with the start and the end of each element of a list, without surrounding white space.
    ///
    /// Empty elements are omitted (RFC 9110 §5.6.1).
    fileprivate func forEachElement(_ body: (Int, Int) -> Void) {
        var position = 0
        while position < count {
            let start = endOfBlanks(from: position)
            position = start
            while position < count, self[position] != TokenList.comma { position &+= 1 }
            let end = trimmedEnd(position, after: start)
            if start < end { body(start, end) }
            position &+= 1
        }
    }
}
