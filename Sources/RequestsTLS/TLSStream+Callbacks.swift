import CRequestsPOSIX
import Requests
import RequestsPOSIX

// OpenSSL calls these within a call of TLSStream, on its thread.

extension TLSStream {
    private static func stream(_ owner: UnsafeMutableRawPointer?) -> TLSStream? {
        owner.map { Unmanaged<TLSStream>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Keeps a session that the server has issued, and returns 1, with which this library takes over its reference.
    static func keep(_ owner: UnsafeMutableRawPointer?, _ session: UnsafeMutableRawPointer?) -> Int32 {
        guard let stream = stream(owner), let session else { return 0 }
        stream.keep(session)
        return 1
    }

    /// Receives from a transport other than a socket; returns a negative error number on failure.
    static func receive(_ owner: UnsafeMutableRawPointer?, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        guard let stream = stream(owner) else { return -Int(EBADF) }
        let transport = stream.transport
        let count = result { () throws(SystemError) in
            try transport.receive(into: UnsafeMutableRawBufferPointer(start: bytes, count: count))
        }
        // This call ends here too, as if it had reached its own limit.
        if rp_tls_would_block(count) == 1, transport.directionsToReceive.isEmpty { stream.io.pointee.receives_left = 0 }
        return count
    }

    /// Sends to a transport other than a socket; returns a negative error number on failure.
    static func transmit(_ owner: UnsafeMutableRawPointer?, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        guard let transport = stream(owner)?.transport else { return -Int(EBADF) }
        return result { () throws(SystemError) in
            try transport.send(UnsafeRawBufferPointer(start: bytes, count: count))
        }
    }

    private static func result(_ transfer: () throws(SystemError) -> TransferResult) -> Int {
        do throws(SystemError) {
            return switch try transfer() {
            case .bytes(let count): count
            case .end: 0
            case .wouldBlock: -Int(EAGAIN)
            }
        } catch {
            return -Int(error.code)
        }
    }

    /// Verifies the certificates of a peer; returns 1 if they are accepted.
    static func verify(_ verification: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?) -> Int32 {
        guard let verification, let context,
            let tls = try? Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue().library.functions().tls
                .pointee,
            let ssl = tls.X509_STORE_CTX_get_ex_data(verification, tls.SSL_get_ex_data_X509_STORE_CTX_idx()),
            let io = tls.SSL_get_ex_data(ssl, 0)?.assumingMemoryBound(to: rp_tls_io.self),
            let stream = stream(io.pointee.owner)
        else { return 0 }
        return stream.accepts(verification) ? 1 : 0
    }
}

// MARK: Verification

extension TLSStream {
    /// Returns whether the certificates of the peer are accepted: the chain and the name first, then the pins.
    private func accepts(_ verification: UnsafeMutableRawPointer) -> Bool {
        let tls = library.tls.pointee
        let isOK: Int32 = 0, applicationRefuses: Int32 = 50  // X509_V_OK and X509_V_ERR_APPLICATION_VERIFICATION
        if context.isVerifying {
            guard tls.X509_verify_cert(verification) == 1 else {
                let code = tls.X509_STORE_CTX_get_error(verification)
                refusal = refusal(verification, code)
                // OpenSSL may fail without a reason, as without memory; the error decides about the alert.
                if code == isOK { tls.X509_STORE_CTX_set_error(verification, applicationRefuses) }
                return false
            }
        } else {
            tls.X509_STORE_CTX_set_error(verification, isOK)
        }
        if let error = pinningFailure(verification) ?? checkFailure(verification) {
            refusal = error
            tls.X509_STORE_CTX_set_error(verification, applicationRefuses)
            return false
        }
        let chain = tls.X509_STORE_CTX_get0_chain(verification)
        if serverName == nil {
            clientChain = library.certificates(in: chain).map(library.summary)
        } else if context.sessions.limit > 0 {
            validity = validity(of: chain)
        }
        return true
    }

    /// Returns the time range in which a verification of `chain` is valid: one day, or until a certificate expires.
    private func validity(of chain: UnsafeRawPointer?) -> Range<Int> {
        let now = context.now(), day = 86_400
        let ends = library.certificates(in: chain, limit: .max).map { library.expiry(of: $0) }
        return now..<max(now, ends.reduce(now + day, min))
    }

    /// Returns the failure if the host has pins and the chain matches none of them.
    private func pinningFailure(_ verification: UnsafeMutableRawPointer) -> TLSError? {
        guard let serverName else { return nil }
        let pins = context.pins(for: serverName.text)
        if pins.isEmpty { return nil }
        // Without verification, any peer can send the pinned certificate after its own, so only the first one counts.
        let tls = library.tls.pointee
        let leaf = tls.X509_STORE_CTX_get0_cert(verification)
        let chain =
            context.isVerifying
            ? library.certificates(in: tls.X509_STORE_CTX_get0_chain(verification), limit: 100)
            : [leaf].compactMap(\.self)
        let publicKeys = Set(pins.flatMap(\.publicKeys)), certificates = Set(pins.flatMap(\.certificates))
        for certificate in chain {
            if let key = library.publicKeyFingerprint(of: certificate), publicKeys.contains(key) { return nil }
            if let whole = library.fingerprint(of: certificate), certificates.contains(whole) { return nil }
        }
        let found = leaf.flatMap { library.publicKeyFingerprint(of: $0) }.map { "; its key is \($0)" } ?? ""
        return refusal(
            verification, .notPinned, "the certificate of \(ErrorText.quoted(serverName.text)) matches no pin\(found)")
    }

    /// Returns the failure if the check of the app refuses the peer.
    private func checkFailure(_ verification: UnsafeMutableRawPointer) -> TLSError? {
        guard let check = context.client?.configuration.serverCheck, let serverName else { return nil }
        let tls = library.tls.pointee
        let chain =
            context.isVerifying
            ? tls.X509_STORE_CTX_get0_chain(verification) : tls.X509_STORE_CTX_get0_untrusted(verification)
        do {
            try check(serverName.text, library.certificates(in: chain).map(library.summary))
            return nil
        } catch {
            let name = ErrorText.quoted(serverName.text)
            let detail = "the app refused the certificate of \(name): \(ErrorText.quoted("\(error)", limit: 200))"
            return refusal(verification, .refusedByCheck, detail)
        }
    }

    private func refusal(
        _ verification: UnsafeMutableRawPointer, _ problem: RequestError.CertificateProblem, _ detail: String,
        _ code: Int32? = nil
    ) -> TLSError {
        let sent = library.certificates(in: library.tls.pointee.X509_STORE_CTX_get0_untrusted(verification))
        return TLSError(.certificate(problem), detail, information(sent), verificationCode: code)
    }

    /// Returns the failure of a verification, by OpenSSL's number (x509_vfy.h), in plain words.
    private func refusal(_ verification: UnsafeMutableRawPointer, _ code: Int32) -> TLSError {
        let tls = library.tls.pointee
        let current = tls.X509_STORE_CTX_get_current_cert(verification).map(library.summary)
        let subject = current.map { ErrorText.quoted($0.subject, limit: 200) } ?? "of the peer"
        let issuer = current.map { ErrorText.quoted($0.issuer, limit: 200) } ?? "unknown"
        let isLeaf = tls.X509_STORE_CTX_get_error_depth(verification) == 0
        let whose = isLeaf ? "certificate" : "issuing certificate \(subject)"
        switch code {
        case 9:
            return refusal(verification, .notYetValid, "\(whose) is not valid before \(current?.notBefore ?? "now")")
        case 10: return refusal(verification, .expired, "\(whose) expired on \(current?.notAfter ?? "an unknown date")")
        case 18:
            return refusal(verification, .selfSigned, "certificate \(subject) is self-signed and not trusted")
        case 19:
            return refusal(verification, .unknownIssuer, "the root certificate \(subject) of the chain is not trusted")
        case 2, 20, 21:
            let detail = "the issuer \(issuer) of the \(whose) is unknown, or an intermediate certificate is missing"
            return refusal(verification, .unknownIssuer, detail)
        case 62, 64: return refusal(verification, .nameMismatch, nameMismatch(current))
        case 66, 67: return refusal(verification, .weak, "the key of the \(whose) is too short")
        case 68: return refusal(verification, .weak, "the signature of the \(whose) uses a weak hash function")
        default:
            let reason = tls.X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "error \(code)"
            return refusal(verification, .other, "the \(whose) was refused: \(reason)", code)
        }
    }

    private func nameMismatch(_ certificate: TLSConfiguration.Certificate?) -> String {
        let name = ErrorText.quoted(serverName?.text ?? "")
        guard let certificate, !certificate.names.isEmpty else {
            return "the certificate is not valid for \(name); it has no subjectAltName, and its common name is ignored"
        }
        let more = certificate.nameCount - certificate.names.count
        let names = certificate.names.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
        return "the certificate is not valid for \(name); its names are \(names)"
    }
}

extension LoadedTLS {
    /// X509_CHECK_FLAG_NEVER_CHECK_SUBJECT and _NO_PARTIAL_WILDCARDS: only whole labels of the subjectAltName count
    /// (RFC 9525 §6.3).
    static var nameFlags: UInt32 { 0x20 | 0x4 }

    /// X509_CHECK_FLAG_NO_WILDCARDS: names are compared literally.
    private static var literalNames: UInt32 { 0x2 }

    /// Sets the name that a client sends and verifies; returns whether there was memory.
    func expect(_ name: TLSServerName, on ssl: UnsafeMutableRawPointer) -> Bool {
        let parameters = tls.pointee.SSL_get0_param(ssl)
        // The wildcards of OpenSSL match no label with an underscore, which hosts may have. For such a host, the
        // name and the one wildcard that applies to it are expected literally.
        let wildcard = name.isAddress || !name.text.containsByte("_") ? nil : Self.wildcard(for: name.text)
        // Set here as well: not every version inherits them from the context without a name.
        tls.pointee.X509_VERIFY_PARAM_set_hostflags(
            parameters, wildcard == nil ? Self.nameFlags : Self.nameFlags | Self.literalNames)
        if name.isAddress { return tls.pointee.X509_VERIFY_PARAM_set1_ip_asc(parameters, name.text) == 1 }
        let setServerName: Int32 = 55, hostName = 0
        let isSent = name.text.withCString { text in
            tls.pointee.SSL_ctrl(ssl, setServerName, hostName, UnsafeMutableRawPointer(mutating: text)) == 1
        }
        guard isSent, tls.pointee.X509_VERIFY_PARAM_set1_host(parameters, name.text, name.text.utf8.count) == 1 else {
            return false
        }
        return wildcard.map { tls.pointee.X509_VERIFY_PARAM_add1_host(parameters, $0, $0.utf8.count) == 1 } ?? true
    }

    /// Returns the wildcard for `name`, with `*` as its first label; nil if fewer than two labels follow.
    private static func wildcard(for name: String) -> String? {
        let parent = name.utf8.drop { $0 != UInt8(ascii: ".") }
        return parent.dropFirst().contains(UInt8(ascii: ".")) ? "*" + String(decoding: parent, as: UTF8.self) : nil
    }
}
