/// What an environment has given a request: what a redirect to a URL that is not below the environment takes back.
final class AppliedDefaults: Sendable {
    let defaults: EnvironmentDefaults
    /// Whether the defaults apply to the request's target.
    let areApplied: Bool
    /// The fields that the environment and its credentials have added.
    let given: [Field]
    /// The fields that its credentials have replaced.
    let displaced: [Field]
    /// Whether the request has no credentials of its own, so that those of the environment may be added.
    let mayAuthenticate: Bool
    /// Whether the call has left an origin that the secrets had been sent to: they do not come back.
    let isWithdrawn: Bool

    init(
        _ defaults: EnvironmentDefaults, areApplied: Bool, given: [Field] = [], displaced: [Field] = [],
        mayAuthenticate: Bool, isWithdrawn: Bool = false
    ) {
        self.defaults = defaults
        self.areApplied = areApplied
        self.given = given
        self.displaced = displaced
        self.mayAuthenticate = mayAuthenticate
        self.isWithdrawn = isWithdrawn
    }
}

extension PreparedRequest.Parts {
    /// Leaves the secrets behind when the target is at another origin, and makes the environment's defaults those of the
    /// target.
    ///
    /// - Throws: What keeps the environment's credentials from being sent.
    mutating func moveDefaults(isLeavingOrigin: Bool) throws(RequestError) {
        guard let state = defaults else {
            if isLeavingOrigin { removeSecrets() }
            return
        }
        let applies = state.defaults.apply(
            toRedirected: target, hasLeftOrigin: redirection?.hasLeftOrigin ?? false)
        if state.areApplied, applies, !isLeavingOrigin { return }
        if state.areApplied {
            header.removeAll { state.given.contains($0) }
            header.add(state.displaced)
        }
        // In this order: what the environment's credentials had replaced may be a secret of the request's own.
        if isLeavingOrigin { removeSecrets() }
        let isWithdrawn = state.isWithdrawn || isLeavingOrigin && state.areApplied
        let change = applies ? try addDefaults(of: state, withSecrets: !isWithdrawn) : HeaderChange()
        defaults = AppliedDefaults(
            state.defaults, areApplied: applies, given: change.added, displaced: change.removed,
            mayAuthenticate: state.mayAuthenticate, isWithdrawn: isWithdrawn)
    }

    private mutating func removeSecrets() {
        let names = Set(header.map(\.name).filter(isSecret))
        if !names.isEmpty { header.removeAll { names.contains($0.name) } }
        if let trailers = handling.isUsual ? nil : handling.attributes.trailers {
            handling.attributes.trailers = trailers.removing(isSecret)
        }
    }

    private mutating func addDefaults(
        of state: AppliedDefaults, withSecrets: Bool
    ) throws(RequestError) -> HeaderChange {
        var copy = header
        let given = state.defaults.addFields(to: &copy) { withSecrets || !isSecret($0) }
        header = copy
        guard withSecrets, state.mayAuthenticate, !header.contains(.authorization) else {
            return HeaderChange(added: given)
        }
        try state.defaults.authenticate(&copy)
        copy.keepFields(ofContentIn: header)
        var change = HeaderChange(from: header, to: copy)
        change.added += given
        header = copy
        return change
    }
}

/// The fields by which two headers differ.
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
    /// Puts Accept, Content-Type and the executor's fields back as they are in `original`: credentials cannot set them.
    mutating func keepFields(ofContentIn original: Header) {
        removeFieldsOfExecutor()
        for name in [Field.Name.accept, .contentType] where values(of: name) != original.values(of: name) {
            remove(name)
            add(original.filter { $0.name == name })
        }
    }

    /// Removes the fields that frame a message or steer a connection.
    mutating func removeFieldsOfExecutor() {
        removeAll { $0.name.belongsToExecutor }
    }
}
