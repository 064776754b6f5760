/// The identity of a partially downloaded representation, which is sufficient to request the remaining bytes.
///
/// It is stored next to the bytes, from one run of a program to the next.
package struct ResumePoint: Codable, Sendable {
    /// The version of the file's format; a point of another version is not used, so the download starts over.
    package private(set) var version = Self.currentVersion
    package static let currentVersion = 1
    /// The request's target with its secrets redacted.
    ///
    /// A download from another target is not resumed.
    package let target: String
    /// The value of If-Range that identifies the representation: a strong entity tag, or a date if it is reliable
    /// enough.
    package let validator: String
    /// The length of the representation in bytes, if it is known.
    package let length: Int?

    /// Creates the resume point for a response that contains the whole representation.
    ///
    /// The result is nil if a range of it cannot be requested safely.
    ///
    /// A weak entity tag does not identify bytes. A date does so only if the server's clock was at least one second
    /// later when it responded, because no later change can then have the same date (RFC 9110 §8.8.2.2, §13.1.5). If a
    /// content coding was decoded, the bytes are not those that a range counts.
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
                let modified = head.header.date(of: .lastModified), let responded = head.header.date(of: .date),
                responded.date.timeIntervalSince(modified.date) >= 1
            else { return nil }
            validator = text
        }
        target = "\(head.target)"
        length = head.header[.contentLength].flatMap(Self.length)
    }

    /// Returns the number in Content-Length; nil if it is not a number of decimal digits up to `Int.max`.
    private static func length(_ text: String) -> Int? {
        text.utf8.allSatisfy { $0 &- 0x30 < 10 } ? Int(text) : nil
    }

    /// Returns the fields that request the bytes after the first `count`, or everything if the representation has
    /// changed.
    package func fields(after count: Int) -> [Field] {
        [.range(.from(count)), Field(name: .ifRange, value: validator)]
    }

    // The reasons why a download starts over, for the metrics of the response.
    package static let missing = "the partial file has no resume point for this URL"
    package static let wholeSent = "the server sent the whole representation: it has changed, or has no ranges"
    package static let otherPart = "the part that the server sent does not continue the partial file"
    package static let rangeRefused = "the server refused the range (416)"

    package enum Decision: Hashable, Sendable {
        /// Append the body, which ends before byte `end` of the representation.
        ///
        /// The length of the representation may be known.
        case append(end: Int, length: Int?)
        /// Finish the download: no bytes are missing.
        case finish
        /// Replace the bytes so far by the body.
        case replace
        /// Request the whole representation: the response does not match the bytes so far.
        case startOver
        /// Return the response to the caller: it is not part of a download.
        case deliver
        /// Reject the response, which does not match the request.
        case refuse
    }

    /// Returns what to do with `response` (RFC 9110 §15.3.7, §15.5.17).
    ///
    /// It is the response to a request for the bytes of `point` after the first `count`, or for the whole
    /// representation if `point` is nil.
    package static func step(for response: RawResponse, at point: ResumePoint?, after count: Int) -> Decision {
        let head = response.head
        switch head.status {
        case 206:
            guard let point else { return .refuse }
            guard let range = head.header.contentRange, let bytes = range.bytes, bytes.lowerBound == count,
                response.metrics.contentEncoding == nil, point.agrees(with: head, range)
            else { return .startOver }
            // The server chose the number. A range whose end overflows does not belong to any representation.
            let (end, isTooLarge) = bytes.upperBound.addingReportingOverflow(1)
            return isTooLarge ? .startOver : .append(end: end, length: range.length ?? point.length)
        case 416:
            guard let point else { return .deliver }
            guard let range = head.header.contentRange, range.length == count, point.length ?? count == count else {
                return .startOver
            }
            return .finish
        default: return head.status.isSuccess ? .replace : .deliver
        }
    }

    /// Returns whether a partial response continues the bytes so far: same representation, same length, one part.
    private func agrees(with head: ResponseHead, _ range: ContentRange) -> Bool {
        if head.contentType?.type == .multipart { return false }
        if let length, let other = range.length, length != other { return false }
        guard let tag = head.header.entityTag, let own = EntityTag(fieldValue: validator) else { return true }
        return tag.matchesStrongly(own)
    }
}

extension ResumePoint: Equatable {
    /// Returns whether both identify the same bytes from the same target.
    ///
    /// Entity tags are compared by octets.
    package static func == (left: Self, right: Self) -> Bool {
        left.length == right.length && left.target.hasSameBytes(as: right.target)
            && left.validator.hasSameBytes(as: right.validator)
    }
}
