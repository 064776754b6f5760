/// The defaults of an environment as applied to a request.
///
/// A redirect to a URL that is not below the environment's base URL removes them again (decision 0020).
final class AppliedDefaults: Sendable {
    /// The defaults of the environment that the request belongs to.
    let defaults: EnvironmentDefaults
    /// Whether the defaults apply to the request's target.
    let areApplied: Bool
    /// The fields that the environment and its credentials have added.
    let addedFields: [Field]
    /// The fields of the request that the environment's credentials have replaced.
    let removedFields: [Field]
    /// Whether the request has no credentials of its own, so that the environment may add credentials.
    let mayAuthenticate: Bool
    /// Whether the call has left an origin that received these secrets.
    ///
    /// They are then never added again.
    let isWithdrawn: Bool

    init(
        _ defaults: EnvironmentDefaults, areApplied: Bool, addedFields: [Field] = [], removedFields: [Field] = [],
        mayAuthenticate: Bool, isWithdrawn: Bool = false
    ) {
        self.defaults = defaults
        self.areApplied = areApplied
        self.addedFields = addedFields
        self.removedFields = removedFields
        self.mayAuthenticate = mayAuthenticate
        self.isWithdrawn = isWithdrawn
    }
}

extension PreparedRequest.Parts {
    /// Removes the secrets when the target is at another origin, and replaces the applied defaults with those for the
    /// target.
    ///
    /// - Throws: ``RequestError`` when the credentials of the environment cannot be sent.
    mutating func moveDefaults(isLeavingOrigin: Bool) throws(RequestError) {
        guard let state = defaults else {
            if isLeavingOrigin { removeSecrets() }
            return
        }
        let applies = state.defaults.applies(
            toRedirected: target, hasLeftOrigin: redirection?.hasLeftOrigin ?? false)
        if state.areApplied, applies, !isLeavingOrigin { return }
        if state.areApplied {
            header.removeAll { state.addedFields.contains($0) }
            header.add(state.removedFields)
        }
        // After restoring the removed fields, because they can be secrets of the request itself.
        if isLeavingOrigin { removeSecrets() }
        let isWithdrawn = state.isWithdrawn || isLeavingOrigin && state.areApplied
        let change = applies ? try addDefaults(of: state, withSecrets: !isWithdrawn) : HeaderChange()
        defaults = AppliedDefaults(
            state.defaults, areApplied: applies, addedFields: change.added, removedFields: change.removed,
            mayAuthenticate: state.mayAuthenticate, isWithdrawn: isWithdrawn)
    }

    /// Removes the fields and trailers that must not be sent to another origin.
    private mutating func removeSecrets() {
        let names = Set(header.map(\.name).filter(isSecret))
        if !names.isEmpty { header.removeAll { names.contains($0.name) } }
        if let trailers = settings.isDefault ? nil : settings.attributes.trailers {
            settings.attributes.trailers = trailers.removing(isSecret)
        }
    }

    /// Adds the defaults of the environment, including its credentials if allowed, and returns the changed fields.
    private mutating func addDefaults(
        of state: AppliedDefaults, withSecrets: Bool
    ) throws(RequestError) -> HeaderChange {
        var copy = header
        let addedFields = state.defaults.addFields(to: &copy) { withSecrets || !isSecret($0) }
        header = copy
        guard withSecrets, state.mayAuthenticate, !header.contains(.authorization) else {
            return HeaderChange(added: addedFields)
        }
        try state.defaults.authenticate(&copy)
        copy.restoreContentFields(from: header)
        var change = HeaderChange(from: header, to: copy)
        change.added += addedFields
        header = copy
        return change
    }
}

/// The fields that differ between two headers.
struct HeaderChange {
    var added: [Field] = []
    var removed: [Field] = []
}

extension HeaderChange {
    init(from old: Header, to new: Header) {
        guard new != old else { return }
        added = new.filter { !old.contains($0) }
        removed = old.filter { !new.contains($0) }
    }
}

extension Header {
    /// Restores Accept and Content-Type from `original` and removes the fields of the executor.
    ///
    /// Credentials must not set them.
    mutating func restoreContentFields(from original: Header) {
        removeFieldsOfExecutor()
        for name in [Field.Name.accept, .contentType] where values(of: name) != original.values(of: name) {
            remove(name)
            add(original.filter { $0.name == name })
        }
    }

    /// Removes the fields that belong to the executor, which frame a message or control a connection.
    mutating func removeFieldsOfExecutor() {
        removeAll { $0.belongsToExecutor }
    }
}
