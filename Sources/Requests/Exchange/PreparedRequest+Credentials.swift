extension PreparedRequest {
    /// Returns this request with the fields of credentials, marked as a request whose 401 response is handled.
    ///
    /// The fields replace fields with the same names. Fields that belong to the executor are left out. The names become
    /// secret names of the request (decision 0020).
    package func authenticated(with fields: Header) -> PreparedRequest {
        var request = self
        request.change { parts in
            parts.handlesUnauthorized = true
            for field in fields where !field.name.belongsToExecutor {
                // Compared first: nearly all credentials are in this field, and a set has to hash the name.
                if field.name != .authorization, !Redaction.standard.isSecret(field.name) {
                    parts.settings.redirectPolicy.sensitiveFields.insert(field.name)
                }
                parts.header.set(field)
            }
            if hasLeftOrigin { parts.header = self.parts.removingNewSecrets(from: parts.header) }
        }
        return request
    }

    /// Returns this request with every field marked as secret that `request` lacks or has with another value.
    ///
    /// So no description contains a signature.
    package func withSecretFields(addedTo request: PreparedRequest) -> PreparedRequest {
        let added = header.filter { !request.header.contains($0) && !Redaction.standard.isSecret($0.name) }
        guard !added.isEmpty else { return self }
        var signed = self
        signed.redirectPolicy.sensitiveFields.formUnion(added.map(\.name))
        return signed
    }
}
