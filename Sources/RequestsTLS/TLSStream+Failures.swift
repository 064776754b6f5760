import CRequestsPOSIX
import Requests
import RequestsPOSIX

extension TLSStream {
    /// Returns the directions to wait for after a call of OpenSSL; nil if it succeeded.
    ///
    /// - Throws: The failure, which is kept.
    func interest(of code: Int32, isHandshake: Bool) throws(TLSError) -> Interest? {
        let isPending = hasPendingBytes || io.pointee.transmit != nil && transport.hasPendingBytes
        let pending: Interest = isPending ? .writing : .none
        switch code {
        case rp_tls_error_none: return nil
        case rp_tls_error_want_read: return io.pointee.receives_left == 0 ? Interest.none : pending.union(.reading)
        case rp_tls_error_want_write: return .writing
        case rp_tls_error_close_notify: throw fail(closedError(isHandshake: isHandshake))
        default: throw failure(after: code, isHandshake: isHandshake)
        }
    }

    func fail(_ error: TLSError) -> TLSError {
        failure = error
        return error
    }

    func fail(_ problem: TLSError.Problem, _ detail: String) -> TLSError {
        fail(TLSError(problem, detail, information))
    }

    /// Returns the reason of a failed call, and clears OpenSSL's errors.
    private func failure(after code: Int32, isHandshake: Bool) -> TLSError {
        let error = library.tls.pointee.ERR_peek_error()
        let reason = library.reason(of: error)
        let texts = library.takeErrors()
        if let refusal { return fail(refusal) }
        if let failure = transport.failure { return fail(failure) }
        if io.pointee.is_flooded != 0 { return fail(floodError(isHandshake: isHandshake)) }
        // The texts of 1.1.1 and 3 differ when a connection ends early, so our own flags decide. They are of no account
        // after a violation of the protocol: then only the alert may have failed.
        let unexpectedEnd = 294
        if code != rp_tls_error_protocol || error == 0 || reason == unexpectedEnd {
            if io.pointee.receive_error != 0 { return fail(systemError("recv", io.pointee.receive_error)) }
            if io.pointee.ended != 0 { return fail(closedError(isHandshake: isHandshake)) }
            if io.pointee.send_error != 0 { return systemError("send", io.pointee.send_error) }
        }
        if isHandshake, let foreign = foreignProtocol { return fail(foreign) }
        return fail(TLSError(Self.problem(of: reason), Self.detail(of: reason, texts), information))
    }

    private func closedError(isHandshake: Bool) -> TLSError {
        if isHandshake {
            return TLSError(.closedInHandshake, "the peer closed the connection during the TLS handshake", information)
        }
        return TLSError(
            .truncated, "the peer closed the connection without close_notify; data may be missing", information)
    }

    private func floodError(isHandshake: Bool) -> TLSError {
        let (records, bytes) =
            isHandshake
            ? (rp_tls_handshake_record_limit, rp_tls_handshake_byte_limit)
            : (rp_tls_quiet_record_limit, rp_tls_quiet_byte_limit)
        let limit = "at least \(records) records or \(bytes >> 10) KiB"
        let detail =
            isHandshake ? "the peer sent \(limit) in the TLS handshake" : "the peer sent \(limit) of TLS without data"
        return TLSError(.flood, detail, information)
    }

    func systemError(_ operation: SystemError.StaticOperation, _ code: Int32) -> TLSError {
        let error = SystemError(operation, code: code)
        return TLSError(.system(error), "\(error)", information)
    }

    /// The failure if the first bytes of the peer do not begin a record (RFC 8446 §5.1).
    private var foreignProtocol: TLSError? {
        let count = Int(io.pointee.first_count)
        let bytes = withUnsafeBytes(of: io.pointee.first) { Array($0.prefix(count)) }
        guard let type = bytes.first, !(20...24).contains(type) || bytes.count > 1 && bytes[1] != 3 else { return nil }
        let isHTTP = ["HTTP/", "GET ", "POST ", "HEAD ", "PUT ", "CONNECT "].contains { bytes.starts(with: $0.utf8) }
        let detail =
            isHTTP
            ? "the peer uses plain HTTP on this port, and TLS was expected"
            : "the peer does not use TLS on this port"
        return TLSError(.notTLS, detail)
    }

    private static func problem(of reason: Int) -> TLSError.Problem {
        // Alerts of the peer have the reasons 1000 to 1255 (SSL_AD_REASON_OFFSET).
        if let alert = alert(of: reason) {
            return TLSAlert.negotiationFailed.contains(alert) ? .negotiationFailed : .alert(alert)
        }
        // SSL_R_NO_SHARED_CIPHER, _UNSUPPORTED_PROTOCOL, _NO_APPLICATION_PROTOCOL, _NO_PROTOCOLS_AVAILABLE,
        // _UNKNOWN_PROTOCOL and _WRONG_SSL_VERSION.
        return [193, 258, 235, 191, 252, 266].contains(reason) ? .negotiationFailed : .protocolViolation
    }

    private static func alert(of reason: Int) -> UInt8? {
        (1000...1255).contains(reason) ? UInt8(reason - 1000) : nil
    }

    private static func detail(of reason: Int, _ texts: String) -> String {
        guard let alert = alert(of: reason) else { return texts }
        return "the peer refused the TLS connection: \(TLSAlert.meaning(of: alert)) (alert \(alert))"
    }
}
