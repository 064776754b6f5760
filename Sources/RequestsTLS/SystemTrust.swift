import CRequestsPOSIX
import Requests

/// The places where systems keep trusted certificates.
package struct SystemTrust: Sendable {
    /// Whether the places that OpenSSL was built with are tried first.
    package var usesDefaults: Bool
    /// Files with all certificates; the first that can be loaded is used.
    package var files: [String]
    /// Folders whose files are named by the hash of a subject, as OpenSSL looks them up; used if no file exists.
    package var folders: [String]
    /// A function that returns a variable of the environment; nil if it is not set.
    package var environment: @Sendable (String) -> String?

    package init(
        usesDefaults: Bool = false, files: [String] = [], folders: [String] = [],
        environment: @escaping @Sendable (String) -> String? = { _ in nil }
    ) {
        self.usesDefaults = usesDefaults
        self.files = files
        self.folders = folders
        self.environment = environment
    }

    /// The places of Debian, Ubuntu, Alpine, Fedora, RHEL, Amazon Linux and SUSE.
    package static let standard = SystemTrust(
        usesDefaults: true,
        files: [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
            "/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
        ],
        folders: ["/etc/ssl/certs", "/etc/pki/tls/certs"],
        environment: { name in getenv(name).map { String(cString: $0) } })
}

extension ContextBuilder {
    /// Trusts the certificates of all sources.
    ///
    /// - Throws: ``TLSError`` with ``TLSError/Problem/configuration`` if one has no certificate. Otherwise every server
    ///   would be refused later, for a reason that is hard to find.
    func trust(_ trust: TLSConfiguration.Trust, _ system: SystemTrust) throws(TLSError) {
        for source in trust.sources {
            switch source {
            case .system(let readsEnvironment):
                if readsEnvironment, try trustEnvironment(system) { continue }
                try trustSystem(system)
            case .bytes(let bytes):
                try trustCertificates(in: bytes, "the trusted certificates")
            case .file(let path):
                try trustCertificates(
                    in: TLSFile.read(path, "trusted certificates"), "the file \(ErrorText.quoted(path))")
            }
        }
    }

    private func trustCertificates(in bytes: Data, _ name: String) throws(TLSError) {
        let certificates = try loaded.certificates(in: bytes, name)
        defer { certificates.forEach { tls.X509_free($0) } }
        for certificate in certificates { try trust(certificate) }
    }

    /// Trusts the certificates that the environment names, and returns false if it names none.
    private func trustEnvironment(_ system: SystemTrust) throws(TLSError) -> Bool {
        let file = system.environment("SSL_CERT_FILE").flatMap { $0.isEmpty ? nil : $0 }
        let folders = system.environment("SSL_CERT_DIR").map { $0.utf8.split(separator: UInt8(ascii: ":")) } ?? []
        if let file {
            try trustCertificates(in: TLSFile.read(file, "variable SSL_CERT_FILE"), "the file of SSL_CERT_FILE")
        }
        guard !folders.isEmpty else { return file != nil }
        var isFound = false
        for folder in folders.map({ String(decoding: $0, as: UTF8.self) }) where Self.hasHashedNames(folder) {
            isFound = trust(file: nil, folder: folder) || isFound
        }
        guard isFound else {
            throw TLSError(
                .configuration,
                "the folders of SSL_CERT_DIR contain no certificates by the hash of their names; run openssl rehash")
        }
        return true
    }

    private func trustSystem(_ system: SystemTrust) throws(TLSError) {
        var places: [String] = []
        if system.usesDefaults {
            let file = tls.X509_get_default_cert_file().map { String(cString: $0) } ?? ""
            let folder = tls.X509_get_default_cert_dir().map { String(cString: $0) } ?? ""
            // Both, as OpenSSL does: a folder may contain only what an administrator has added.
            let hasFile = trust(existing: file)
            let hasFolder = Self.hasHashedNames(folder) && trust(file: nil, folder: folder)
            if hasFile || hasFolder { return }
            places += [file, folder]
        }
        for file in system.files where trust(existing: file) { return }
        for folder in system.folders where Self.hasHashedNames(folder) && trust(file: nil, folder: folder) { return }
        places += system.files + system.folders
        throw TLSError(
            .configuration,
            "found no trusted system certificates; install ca-certificates, or set TLSConfiguration.trust; "
                + "searched \(places.joined(separator: ", "))")
    }

    private func trust(existing file: String) -> Bool {
        FileManager.default.fileExists(atPath: file) && trust(file: file, folder: nil)
    }

    /// Returns whether a folder has a name such as `4a6481c9.0`, by which OpenSSL finds certificates.
    static func hasHashedNames(_ folder: String) -> Bool {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.contains { name in
            let bytes = Array(name.utf8)
            guard bytes.count >= 10, bytes[8] == UInt8(ascii: ".") else { return false }
            let isHash = bytes[..<8].allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
            return isHash && bytes[9...].allSatisfy { (0x30...0x39).contains($0) }
        }
    }
}
