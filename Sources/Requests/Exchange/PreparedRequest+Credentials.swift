extension PreparedRequest {
    /// Returns this request with the fields of credentials, which replace fields of the same names, marked as a request
    /// whose 401 is handled.
    ///
    /// Fields of the executor are left out. The names become secret names of the request (decision 0020).
    package func authenticated(with fields: Header) -> PreparedRequest {
        var parts = parts
        parts.handlesUnauthorized = true
        for field in fields where !field.name.belongsToExecutor {
            // Compared first: nearly all credentials are in this field, and a set has to hash the name.
            if field.name != .authorization, !Redaction.standard.isSecret(field.name) {
                parts.settings.redirectPolicy.sensitiveFields.insert(field.name)
            }
            parts.header.set(field)
        }
        if hasLeftOrigin { parts.header = self.parts.removingNewSecrets(from: parts.header) }
        var request = self
        request.parts = parts
        return request
    }
}

extension RequestEnvironment {
    /// Returns whether credentials for this environment may be sent to `target`: the origin is the same, and the path is
    /// the base path or below it, without a dot segment that could leave it.
    package func covers(_ target: TargetURI) -> Bool {
        guard target.hasSameOrigin(as: self.target) else { return false }
        let (path, prefix) = (target.path.utf8, self.target.path.utf8)
        // The root is the prefix of every path.
        guard prefix.count == 1 || path.starts(with: prefix) || path.elementsEqual(prefix.dropLast()) else {
            return false
        }
        // Nearly every path has neither a dot nor an escape.
        guard path.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }) else { return true }
        return !path.split(separator: UInt8(ascii: "/")).contains { segment in
            let text = PercentEncoding.decode(Substring(segment))
            return text.hasSameBytes(as: ".") || text.hasSameBytes(as: "..")
        }
    }
}
