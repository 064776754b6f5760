/// The fields and queries of a request in all forms that the middleware of a chain has given it.
///
/// An observer sees a request before middleware behind it signs in; the server may repeat those secrets in its
/// response.
final class SeenValues: Sendable {
    private struct State: Sendable {
        var fields: Set<Field> = []
        var queries: Set<String> = []
    }

    private let state = Lock(State())

    /// Adds the values of a form of the request.
    func add(_ header: Header, _ target: TargetURI) {
        let query = target.query
        if query != nil || !header.isEmpty {
            state.withLock { state in
                state.fields.formUnion(header)
                if let query { state.queries.insert(query) }
            }
        }
    }

    /// Adds a field that is not part of the request.
    func add(_ field: Field) {
        state.withLock { state in _ = state.fields.insert(field) }
    }

    var fields: Set<Field> { state.withLock { $0.fields } }
    var queries: Set<String> { state.withLock { $0.queries } }
}

extension PreparedRequest {
    /// Collects the values that middleware behind this one gives the request, so that ``secrets(_:)`` finds the secrets
    /// among them.
    package mutating func collectSeenValues() {
        guard seenValues == nil else { return }
        change { $0.seenValues = SeenValues() }
    }

    /// Records a secret field, such as credentials for a proxy, that the executor sends with this request without
    /// adding it to the request.
    ///
    /// ``secrets(_:)`` then finds it.
    package func recordSecret(_ field: Field) {
        seenValues?.add(field)
        recordLate(field)
    }

    /// Returns whether later middleware has added a field to this request, or changed its value; false unless
    /// it is the value of ``recordingLateFields``.
    ///
    /// If the request was performed several times, this includes the fields that were added in earlier exchanges.
    package func hasLateField(_ name: Field.Name) -> Bool { lateFields?.contains(name) ?? false }
}
