import Requests
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("TLS: trusted certificates", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSTrustTests {
    let authority: TestAuthority
    let directory = TemporaryDirectory()

    init() throws {
        authority = try TestAuthority.shared
        try directory.write(Array(authority.root.pem), to: "root.pem")
    }

    /// Returns the failure of a client with `trust` in a system with `places`.
    func failure(_ trust: TLSConfiguration.Trust, _ places: SystemTrust) throws -> TLSError? {
        let client = TLSSupport.client(TLSConfiguration(trust: trust), systemTrust: places)
        do {
            try client.prepare()
        } catch {
            return error
        }
        var peers = try Peers(client, TLSSupport.server(authority.server()))
        peers.connect()
        return peers.clientError
    }

    @Test("a system without certificates is an error that says so", .rows("S-53"))
    func nothingFound() throws {
        let places = SystemTrust(
            files: [directory.path(of: "none.pem")], folders: [directory.path, directory.path(of: "none")])
        let error = try #require(try failure(.system, places))
        #expect(error.problem == .configuration)
        #expect(error.detail.hasPrefix("found no trusted system certificates; install ca-certificates"))
        #expect(error.detail.contains(directory.path(of: "none.pem")))
        // A file without certificates is as good as none.
        try directory.write(Array("nothing".utf8), to: "empty.pem")
        let empty = SystemTrust(files: [directory.path(of: "empty.pem")])
        #expect(try failure(.system, empty)?.problem == .configuration)
        // The error is not remembered.
        let client = TLSSupport.client(TLSConfiguration(), systemTrust: places)
        #expect(throws: TLSError.self) { try client.prepare() }
        try directory.write(Array(authority.root.pem), to: "none.pem")
        try client.prepare()
    }

    @Test("the first file of the system is used, otherwise a folder with hashed names")
    func places() throws {
        let root = directory.path(of: "root.pem")
        #expect(try failure(.system, SystemTrust(files: ["/none.pem", root])) == nil)
        let hashed = TemporaryDirectory()
        let summary = try hash(of: authority.root)
        try hashed.write(Array(authority.root.pem), to: "\(summary).0")
        #expect(try failure(.system, SystemTrust(files: ["/none.pem"], folders: [hashed.path])) == nil)
    }

    /// The hash of a root's name, by which OpenSSL finds it.
    func hash(of certificate: MadeCertificate) throws -> String {
        let read = try #require(NativeFunctions.find("d2i_X509", as: NativeFunctions.ReadCertificate.self))
        typealias Hash = @convention(c) (UnsafeMutableRawPointer?) -> UInt
        let hash = try #require(NativeFunctions.find("X509_subject_name_hash", as: Hash.self))
        let value = certificate.der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return hash(read(nil, &position, bytes.count))
        }
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    @Test("the environment is read only if the configuration says so", .rows("S-54"))
    func environment() throws {
        let root = directory.path(of: "root.pem")
        let other = try CertificateMaker.authority("Other").make(CertificateKey(.p256))
        try directory.write(Array(other.pem), to: "other.pem")
        func places(_ variables: [String: String], files: [String] = []) -> SystemTrust {
            SystemTrust(files: files, environment: { variables[$0] })
        }
        // Not read: the file of the variable is not trusted.
        #expect(try failure(.system, places(["SSL_CERT_FILE": root])) != nil)
        #expect(try failure(.system(readsEnvironment: true), places(["SSL_CERT_FILE": root])) == nil)
        // It replaces the certificates of the system.
        let replaced = places(["SSL_CERT_FILE": directory.path(of: "other.pem")], files: [root])
        #expect(try failure(.system, replaced) == nil)
        #expect(try failure(.system(readsEnvironment: true), replaced)?.problem == .certificate(.unknownIssuer))
        // Variables that are not set or empty leave the system.
        #expect(try failure(.system(readsEnvironment: true), places(["SSL_CERT_FILE": ""], files: [root])) == nil)

        let hashed = TemporaryDirectory()
        try hashed.write(Array(authority.root.pem), to: "\(try hash(of: authority.root)).0")
        let folders = places(["SSL_CERT_DIR": "/none:\(hashed.path)"])
        #expect(try failure(.system(readsEnvironment: true), folders) == nil)
    }

    @Test("a missing file or folder of the environment or the configuration is an error with its name", .rows("S-54"))
    func missingFiles() throws {
        let missing = directory.path(of: "missing.pem")
        let file = SystemTrust(
            files: [directory.path(of: "root.pem")], environment: { $0 == "SSL_CERT_FILE" ? missing : nil })
        let error = try #require(try failure(.system(readsEnvironment: true), file))
        #expect(error.problem == .configuration)
        #expect(error.detail.contains("SSL_CERT_FILE") && error.detail.contains("missing.pem"))
        let folder = SystemTrust(
            files: [directory.path(of: "root.pem")], environment: { $0 == "SSL_CERT_DIR" ? "/none" : nil })
        #expect(try failure(.system(readsEnvironment: true), folder)?.detail.contains("SSL_CERT_DIR") == true)
        let own = try #require(try failure(.certificates(atPath: missing), SystemTrust()))
        #expect(own.problem == .configuration && own.detail.contains("missing.pem"))
    }

    @Test("own certificates replace the system's, or are added to them")
    func own() throws {
        let other = try CertificateMaker.authority("Other").make(CertificateKey(.p256))
        try directory.write(Array(other.pem), to: "other.pem")
        let places = SystemTrust(files: [directory.path(of: "root.pem")])
        let path = directory.path(of: "other.pem")
        #expect(try failure(.certificates(other.pem), places)?.problem == .certificate(.unknownIssuer))
        #expect(try failure(.certificates(atPath: path), places)?.problem == .certificate(.unknownIssuer))
        #expect(try failure(.system.adding(.certificates(atPath: path)), places) == nil)
        let others = SystemTrust(files: [path])
        #expect(try failure(.system.adding(.certificates(authority.root.pem)), others) == nil)
        #expect(try failure(.certificates(Data(authority.root.der) + Data(other.der)), places) == nil)
        #expect(try failure(.certificates(other.pem + authority.root.pem), places) == nil)
    }

    @Test("without verification every certificate is accepted, in this context only")
    func insecure() throws {
        let leaf = try CertificateMaker("x", names: [.dns("x")]).make(authority.key)
        #expect(try Peers.refusal(of: leaf, trust: .insecureSkipsVerification) == nil)
        #expect(try Peers.refusal(of: leaf, trust: .system.adding(.insecureSkipsVerification)) == nil)
        #expect(try Peers.refusal(of: leaf) != nil)
    }

    @Test("the certificates of this system can be loaded, if it has any")
    func system() throws {
        let context = TLSSupport.client(TLSConfiguration())
        do throws(TLSError) {
            try context.prepare()
        } catch {
            #expect(error.detail.contains("install ca-certificates"))
            return
        }
        // None of them has issued the certificate.
        var peers = try Peers(context, TLSSupport.server(authority.server()))
        peers.connect()
        #expect(peers.clientError?.problem == .certificate(.unknownIssuer))
    }
}
