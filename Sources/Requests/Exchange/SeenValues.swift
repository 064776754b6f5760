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
    /// The values that were collected before these, which include these.
    private let outer: SeenValues?

    init(within outer: SeenValues? = nil) {
        self.outer = outer
    }

    /// Adds the values of a form of the request.
    func add(_ header: Header, _ target: TargetURI) {
        let query = target.query
        if query != nil || !header.isEmpty {
            state.withLock { state in
                state.fields.formUnion(header)
                if let query { state.queries.insert(query) }
            }
        }
        outer?.add(header, target)
    }

    /// Adds a field that is not part of the request.
    func add(_ field: Field) {
        state.withLock { state in _ = state.fields.insert(field) }
        outer?.add(field)
    }

    var fields: Set<Field> { state.withLock { $0.fields } }
    var queries: Set<String> { state.withLock { $0.queries } }
}

extension PreparedRequest {
    /// Collects the values that middleware behind this one gives the request, so that ``secrets(_:)`` finds the secrets
    /// among them.
    ///
    /// - Parameter separately: Whether values of earlier forms of the request are left out, for ``lateFieldNames``.
    package mutating func collectSeenValues(separately: Bool = false) {
        guard seenValues == nil || separately else { return }
        change { $0.seenValues = SeenValues(within: $0.seenValues) }
    }

    /// Records a secret field, such as credentials for a proxy, that the executor sends with this request without
    /// adding it to the request.
    ///
    /// ``secrets(_:)`` then finds it.
    package func recordSecret(_ field: Field) { seenValues?.add(field) }

    /// The names of the fields that later middleware has added to this request, or whose values it has changed; none
    /// unless its values are collected.
    package var lateFieldNames: Set<Field.Name> {
        guard let seenValues else { return [] }
        let own = Set(header)
        return Set(seenValues.fields.lazy.filter { !own.contains($0) }.map(\.name))
    }
}
