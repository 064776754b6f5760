extension [TLSConfiguration.Pin] {
    /// Checks that every pin has a fingerprint and can match a server.
    ///
    /// - Parameter serverName: The name that all certificates must have; nil for the name of the host.
    /// - Returns: The problem of a pin in plain words; nil if all can be enforced.
    package func problem(withServerName serverName: String?) -> String? {
        for pin in self {
            let host = ErrorText.quoted(pin.host, limit: 100)
            if CertificateName(pin.host) == nil {
                return "invalid host \(host) in a pin: use a DNS name in ASCII or an IP address"
            }
            if pin.publicKeys.isEmpty, pin.certificates.isEmpty {
                return "the pin for \(host) has no fingerprint; add at least one"
            }
            if let serverName, let name = CertificateName(serverName), !pin.applies(to: name) {
                return "the pin for \(host) applies to no server, because serverName is "
                    + "\(ErrorText.quoted(serverName, limit: 100)); pin that name"
            }
        }
        return nil
    }
}
