extension PreparedRequest {
    /// Returns this request with the fields of credentials, which replace fields of the same names, marked as a request
    /// whose 401 is handled.
    ///
    /// Fields of the executor are left out. The names become secret names of the request (decision 0020).
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
}
