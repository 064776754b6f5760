import CRequestsPOSIX
import Requests
import RequestsPOSIX

/// A builder of an SSL_CTX, which no connection uses yet.
struct ContextBuilder {
    let loaded: LoadedTLS
    let object: UnsafeMutableRawPointer

    var tls: rp_tls { loaded.tls.pointee }

    /// Commands of SSL_CTX_ctrl (ssl.h), the same in both versions.
    private enum Command {
        static let mode: Int32 = 33
        static let readAhead: Int32 = 41
        static let sessionCacheMode: Int32 = 44
        static let chainCertificate: Int32 = 89
        static let setMinimum: Int32 = 123
        static let setMaximum: Int32 = 124
        static let getMinimum: Int32 = 130
    }

    private enum VersionNumber {
        static let tls12 = 0x0303
        static let tls13 = 0x0304
    }

    /// Calls SSL_CTX_ctrl, and returns its result.
    @discardableResult
    private func control(_ command: Int32, _ number: Int, _ value: UnsafeMutableRawPointer? = nil) -> Int {
        tls.SSL_CTX_ctrl(object, command, number, value)
    }

    /// Sets the options that clients and servers have in common.
    func setCommonOptions() {
        let noCompression: UInt64 = 1 << 17, noRenegotiation: UInt64 = 1 << 30, ignoresUnexpectedEnd: UInt64 = 1 << 7
        _ = tls.SSL_CTX_set_options(object, noCompression | noRenegotiation)
        // A policy of the system could set the option, which hides that data is missing.
        _ = tls.SSL_CTX_clear_options(object, ignoresUnexpectedEnd)
        // SSL_MODE_ENABLE_PARTIAL_WRITE, _ACCEPT_MOVING_WRITE_BUFFER, _AUTO_RETRY and _RELEASE_BUFFERS, which halves
        // the memory of an idle connection.
        control(Command.mode, 0x1 | 0x2 | 0x4 | 0x10)
        // Two records with one system call.
        control(Command.readAhead, 1)
        tls.SSL_CTX_set_default_read_buffer_len(object, 36 << 10)
        if tls.SSL_CTX_get_security_level(object) < 2 { tls.SSL_CTX_set_security_level(object, 2) }
        setMinimum(.tls12)
    }

    /// Requires a version, unless the policy of the system requires a later one.
    func setMinimum(_ version: TLSConfiguration.Version) {
        let number =
            switch version {
            case .tls12: VersionNumber.tls12
            case .tls13: VersionNumber.tls13
            }
        if control(Command.getMinimum, 0) < number { control(Command.setMinimum, number) }
    }

    /// Makes ``TLSStream`` verify the peers of this context.
    func setVerification(_ context: UnsafeMutableRawPointer) {
        let verifiesPeer: Int32 = 1
        tls.SSL_CTX_set_verify(object, verifiesPeer, nil)
        tls.SSL_CTX_set_cert_verify_callback(object, { TLSStream.verify($0, $1) }, context)
        let parameters = tls.SSL_CTX_get0_param(object)
        tls.X509_VERIFY_PARAM_set_hostflags(parameters, LoadedTLS.nameFlags)
        // X509_V_FLAG_TRUSTED_FIRST and _PARTIAL_CHAIN: a trusted intermediate ends a chain.
        _ = tls.X509_VERIFY_PARAM_set_flags(parameters, 0x8000 | 0x80000)
    }

    /// Offers application protocols or, on a server, sets the protocols from which it selects.
    func setProtocols(_ names: [String]) throws(TLSError) {
        let list = try Self.protocolList(names)
        guard !list.isEmpty else { return }
        // Unlike other functions, this one returns 0 on success.
        guard tls.SSL_CTX_set_alpn_protos(object, list, UInt32(list.count)) == 0 else {
            throw TLSError(.configuration, "could not set the application protocols: \(loaded.takeErrors())")
        }
    }

    /// Returns protocol names as they are sent (RFC 7301 §3.1).
    static func protocolList(_ names: [String]) throws(TLSError) -> [UInt8] {
        var list: [UInt8] = []
        for name in names {
            guard (1...255).contains(name.utf8.count) else {
                throw TLSError(.configuration, "invalid application protocol name: use 1 to 255 bytes (RFC 7301)")
            }
            list.append(UInt8(name.utf8.count))
            list.append(contentsOf: name.utf8)
        }
        guard list.count <= 65_535 else {
            throw TLSError(.configuration, "the list of application protocols is longer than 65,535 bytes")
        }
        return list
    }

    /// Offers to send the identity when a server requests it after the handshake (RFC 8446 §4.6.2).
    func offerLaterAuthentication() {
        tls.SSL_CTX_set_post_handshake_auth(object, 1)
    }

    /// Keeps the sessions of a client only in ``TLSSessionCache``.
    func keepSessions() {
        // SSL_SESS_CACHE_CLIENT, _NO_INTERNAL_LOOKUP and _NO_INTERNAL_STORE.
        control(Command.sessionCacheMode, 0x1 | 0x100 | 0x200)
        tls.SSL_CTX_sess_set_new_cb(object, loaded.callbacks.new_session)
    }
}

// MARK: Certificates and keys

extension ContextBuilder {
    func use(_ identity: TLSConfiguration.Identity) throws(TLSError) {
        let certificateBytes: Data
        let keyBytes: Data
        switch identity.storage {
        case .bytes(let certificates, let privateKey):
            certificateBytes = certificates
            keyBytes = privateKey
        case .files(let certificates, let privateKey):
            certificateBytes = try TLSFile.read(certificates, "certificates")
            keyBytes = try TLSFile.read(privateKey, "private key")
        }
        let certificates = try loaded.certificates(in: certificateBytes, "the certificates of the identity")
        defer { certificates.forEach { tls.X509_free($0) } }
        let key = try loaded.privateKey(in: keyBytes, passphrase: identity.passphrase)
        defer { tls.EVP_PKEY_free(key) }
        try require(tls.SSL_CTX_use_certificate(object, certificates[0]), "could not use the certificate")
        for certificate in certificates.dropFirst() {
            // With 1 the context adds a reference.
            try require(Int32(control(Command.chainCertificate, 1, certificate)), "could not use an intermediate")
        }
        try require(tls.SSL_CTX_use_PrivateKey(object, key), "the private key does not match the certificate")
        try require(tls.SSL_CTX_check_private_key(object), "the private key does not match the certificate")
    }

    private func require(_ result: Int32, _ detail: String) throws(TLSError) {
        guard result != 1 else { return }
        throw TLSError(.configuration, "\(detail): \(loaded.takeErrors())")
    }

    func trust(_ certificate: UnsafeMutableRawPointer) throws(TLSError) {
        try require(
            tls.X509_STORE_add_cert(tls.SSL_CTX_get_cert_store(object), certificate), "could not trust a certificate")
    }

    /// Trusts the certificates in a file, or in a folder whose files are named by the hashes of their subjects.
    func trust(file: String?, folder: String?) -> Bool {
        let isLoaded = tls.SSL_CTX_load_verify_locations(object, file, folder) == 1
        if !isLoaded { tls.ERR_clear_error() }
        return isLoaded
    }
}

// MARK: Servers

extension ContextBuilder {
    func apply(_ configuration: TLSServerConfiguration, _ context: UnsafeMutableRawPointer) throws(TLSError) {
        // Tests need servers that are older than any client accepts.
        tls.SSL_CTX_set_security_level(object, configuration.securityLevel)
        control(Command.setMinimum, configuration.versions.lowerBound)
        control(Command.setMaximum, configuration.versions.upperBound)
        if let ciphers = configuration.ciphers {
            try require(tls.SSL_CTX_set_cipher_list(object, ciphers), "invalid list of ciphers")
        }
        try use(configuration.identity)
        if let trust = configuration.clientTrust {
            // SSL_VERIFY_PEER, and SSL_VERIFY_FAIL_IF_NO_PEER_CERT.
            tls.SSL_CTX_set_verify(object, configuration.requiresClientCertificate ? 0x1 | 0x2 : 0x1, nil)
            try self.trust(trust, .standard)
        } else {
            tls.SSL_CTX_set_verify(object, 0, nil)
        }
        let name = Array("requests".utf8)
        _ = tls.SSL_CTX_set_session_id_context(object, name, UInt32(name.count))
        if !configuration.resumesSessions {
            let noTicket: UInt64 = 1 << 14
            _ = tls.SSL_CTX_set_options(object, noTicket)
            control(Command.sessionCacheMode, 0)
        }
        if !configuration.applicationProtocols.isEmpty {
            _ = try Self.protocolList(configuration.applicationProtocols)
            tls.SSL_CTX_set_alpn_select_cb(
                object,
                { _, result, count, offered, offeredCount, context in
                    TLSContext.selectProtocol(result, count, offered, offeredCount, context)
                }, context)
        }
    }
}

extension TLSContext {
    /// Selects the first application protocol of a server that a client has offered.
    ///
    /// The result refers to the client's list, as OpenSSL allows.
    fileprivate static func selectProtocol(
        _ result: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ count: UnsafeMutablePointer<UInt8>?,
        _ offered: UnsafePointer<UInt8>?, _ offeredCount: UInt32, _ context: UnsafeMutableRawPointer?
    ) -> Int32 {
        let isSelected: Int32 = 0, fatal: Int32 = 2
        guard let context, let result, let count, let offered,
            case .server(let configuration) = Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue().role
        else { return fatal }
        for name in configuration.applicationProtocols {
            var index = 0
            while index < Int(offeredCount) {
                let length = Int(offered[index])
                guard index + 1 + length <= Int(offeredCount) else { return fatal }
                let candidate = UnsafeBufferPointer(start: offered + index + 1, count: length)
                if candidate.elementsEqual(name.utf8) {
                    result.pointee = offered + index + 1
                    count.pointee = UInt8(length)
                    return isSelected
                }
                index += 1 + length
            }
        }
        return fatal
    }
}
