import CRequestsPOSIX
package import Requests
import RequestsPOSIX

// The result of the negotiation with the peer.

extension TLSStream {
    /// Refuses an application protocol that was not offered (RFC 7301 §3.2), which not every version of OpenSSL does.
    func checkApplicationProtocol() throws(TLSError) {
        guard let client = context.client, let selected = selectedProtocol else { return }
        if client.protocols.contains(selected) { return }
        let name = ErrorText.quoted(String(decoding: selected, as: UTF8.self), limit: 32)
        throw fail(.negotiationFailed, "the server selected the application protocol \(name), which was not offered")
    }

    /// Offers these application protocols in place of the context's, before the handshake begins.
    ///
    /// - Throws: ``TLSError`` with ``TLSError/Problem/configuration`` for an invalid name.
    package func offerOnly(_ names: [String]) throws(TLSError) {
        let list = try ContextBuilder.protocolList(names)
        try library.enter()
        defer { library.leave() }
        // Unlike other functions, this one returns 0 on success.
        guard library.tls.pointee.SSL_set_alpn_protos(ssl, list, UInt32(list.count)) == 0 else {
            throw fail(.configuration, "could not set the application protocols: \(library.takeErrors())")
        }
    }

    /// Refuses an application protocol that is not in `names`; a server may select none if `orNone`.
    package func requireProtocol(among names: [String], orNone: Bool) throws(TLSError) {
        try library.enter()
        defer { library.leave() }
        let found: String
        if let selected = selectedProtocol {
            if names.contains(where: { $0.utf8.elementsEqual(selected) }) { return }
            found = "the application protocol \(ErrorText.quoted(String(decoding: selected, as: UTF8.self), limit: 32))"
        } else {
            if orNone { return }
            found = "no application protocol"
        }
        let supported = names.joined(separator: " and ")
        throw fail(.negotiationFailed, "the server selected \(found); only \(supported) can be used")
    }

    var isResumed: Bool { library.tls.pointee.SSL_session_reused(ssl) == 1 }

    var isTLS13: Bool { version.utf8.elementsEqual("TLSv1.3".utf8) }

    private var version: String { library.tls.pointee.SSL_get_version(ssl).map { String(cString: $0) } ?? "" }

    private var selectedProtocol: [UInt8]? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        library.tls.pointee.SSL_get0_alpn_selected(ssl, &name, &count)
        guard let name, count > 0 else { return nil }
        return Array(UnsafeBufferPointer(start: name, count: Int(count)))
    }

    /// The protocol and the certificates, as far as the handshake has determined them.
    package var information: TLSConfiguration.Negotiation {
        guard (try? library.enter()) != nil else { return TLSConfiguration.Negotiation(version: "") }
        defer { library.leave() }
        // For a server, OpenSSL's chain lacks the certificate of the client itself.
        if serverName == nil { return information(of: clientChain) }
        return information(library.certificates(in: library.tls.pointee.SSL_get_peer_cert_chain(ssl)))
    }

    /// The protocol without the certificates, whose description takes time; for the metrics of each call.
    package var negotiation: TLSConfiguration.Negotiation {
        guard (try? library.enter()) != nil else { return TLSConfiguration.Negotiation(version: "") }
        defer { library.leave() }
        return information(of: [])
    }

    /// Returns what is known about the connection, with the given certificates of the peer.
    func information(_ chain: [UnsafeMutableRawPointer]) -> TLSConfiguration.Negotiation {
        information(of: chain.map(library.summary))
    }

    private func information(of certificates: [TLSConfiguration.Certificate]) -> TLSConfiguration.Negotiation {
        let tls = library.tls.pointee
        let cipher = tls.SSL_get_current_cipher(ssl).flatMap { tls.SSL_CIPHER_get_name($0) }
        return TLSConfiguration.Negotiation(
            version: version, cipherSuite: cipher.map { String(cString: $0) },
            applicationProtocol: selectedProtocol.map { String(decoding: $0, as: UTF8.self) }, isResumed: isResumed,
            certificates: certificates)
    }

    /// The server name that the client has sent; nil if it sent none.
    package var requestedName: String? {
        guard (try? library.enter()) != nil else { return nil }
        defer { library.leave() }
        return library.tls.pointee.SSL_get_servername(ssl, 0).map { String(cString: $0) }
    }
}
