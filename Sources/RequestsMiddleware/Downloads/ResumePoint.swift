/// What is known of the representation that an interrupted download has the beginning of: enough to ask for the rest.
///
/// Kept next to the bytes, between one run of a program and the next.
package struct ResumePoint: Codable, Sendable {
    /// What was asked, with its secrets redacted; another target's bytes are not gone on with.
    package let target: String
    /// The value of If-Range that names the representation: a strong entity tag, or a date where that will do.
    package let validator: String
    /// The length of the whole, when it was told.
    package let length: Int?

    /// What an answer with the whole representation says of it; nil when no range of it can be asked for safely.
    ///
    /// A weak entity tag does not name bytes. A date does only when the server's clock had moved on by a second when it
    /// answered, so that no later change can have the same one (RFC 9110 §8.8.2.2, §13.1.5). Bytes whose content coding
    /// was undone are not those that a range would count.
    package init?(_ response: RawResponse) {
        let head = response.head
        guard head.status == 200, response.metrics.contentEncoding == nil else { return nil }
        guard !head.header.values(of: .acceptRanges).contains(where: { ASCIIFolding.areEqual($0, "none") }) else {
            return nil
        }
        if head.header.contains(.etag) {
            guard let tag = head.header.entityTag, !tag.isWeak else { return nil }
            validator = tag.fieldValue
        } else {
            guard let text = head.header.values(of: .lastModified).first,
                let modified = head.header.date(of: .lastModified), let answered = head.header.date(of: .date),
                answered.date.timeIntervalSince(modified.date) >= 1
            else { return nil }
            validator = text
        }
        target = "\(head.target)"
        length = head.header[.contentLength].flatMap(Self.length)
    }

    /// The number in Content-Length; nil when it is not a number of decimal digits up to `Int.max`.
    private static func length(_ text: String) -> Int? {
        text.utf8.allSatisfy { $0 &- 0x30 < 10 } ? Int(text) : nil
    }

    /// The fields that ask for what follows the first `count` bytes, or for everything when it has changed.
    package func fields(after count: Int) -> [Field] {
        [.range(.from(count)), Field(name: .ifRange, value: validator)]
    }

    /// What to do with an answer.
    package enum Step: Hashable, Sendable {
        /// Append the body, which ends before this byte of the whole, whose length may be known.
        case append(end: Int, length: Int?)
        /// Nothing is missing.
        case finish
        /// Put the body in the place of what there is.
        case replace
        /// Ask for the whole: the answer does not go with what there is.
        case startOver
        /// It is no part of a download; hand it to the caller.
        case handOver
        /// It answers what was not asked.
        case refuse
    }

    /// What to do with `response`, the answer to a request for what follows the first `count` bytes of `point`, or for
    /// the whole when there is no point to go on from (RFC 9110 §15.3.7, §15.5.17).
    package static func step(for response: RawResponse, at point: ResumePoint?, after count: Int) -> Step {
        let head = response.head
        switch head.status {
        case 206:
            guard let point else { return .refuse }
            guard let range = head.header.contentRange, let bytes = range.bytes, bytes.lowerBound == count,
                response.metrics.contentEncoding == nil, point.agrees(with: head, range)
            else { return .startOver }
            // The server chose the number: one that no length can count belongs to no representation.
            let (end, isTooLarge) = bytes.upperBound.addingReportingOverflow(1)
            return isTooLarge ? .startOver : .append(end: end, length: range.length ?? point.length)
        case 416:
            guard let point else { return .handOver }
            guard let range = head.header.contentRange, range.length == count, point.length ?? count == count else {
                return .startOver
            }
            return .finish
        default: return head.status.isSuccess ? .replace : .handOver
        }
    }

    /// Whether a part may be put behind what there is: same representation, same length, one part.
    private func agrees(with head: ResponseHead, _ range: ContentRange) -> Bool {
        if head.contentType?.type == .multipart { return false }
        if let length, let other = range.length, length != other { return false }
        guard let tag = head.header.entityTag, let own = EntityTag(fieldValue: validator) else { return true }
        return tag.matchesStrongly(own)
    }
}

extension ResumePoint: Equatable {
    /// Whether both name the same bytes of the same target; entity tags are compared octet by octet.
    package static func == (left: Self, right: Self) -> Bool {
        left.length == right.length && left.target.hasSameBytes(as: right.target)
            && left.validator.hasSameBytes(as: right.validator)
    }
}
