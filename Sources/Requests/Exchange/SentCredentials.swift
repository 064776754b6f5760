/// Fields that middleware has added to a request of a call, and that an error response can repeat.
///
/// The request in the error does not contain them. No description or dump contains their values.
package struct SentCredentials: Hashable, Sendable {
    /// The fields; empty for most responses.
    fileprivate(set) var fields: Set<Field> = []

    init() {}
}

extension SentCredentials: CustomStringConvertible, CustomReflectable {
    /// The number of the fields, without their values.
    package var description: String { "\(fields.count) fields" }

    /// The mirror that `dump` prints, without the values of the fields.
    package var customMirror: Mirror { Mirror(self, children: ["count": fields.count]) }
}

extension RawResponse {
    /// Keeps the fields that `sent` has and `request` does not have, if the status is 400 or higher.
    ///
    /// The descriptions of an error with this response then do not contain what the server repeats of them.
    package mutating func keepCredentials(of sent: PreparedRequest, addedTo request: PreparedRequest) {
        guard status.code >= 400 else { return }
        metrics.sentCredentials.fields.formUnion(Set(sent.header).subtracting(request.header))
    }
}
