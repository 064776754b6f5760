import CRequestsPOSIX
import Requests

extension LoadedTLS {
    func summary(of certificate: UnsafeMutableRawPointer) -> TLSConfiguration.Certificate {
        let names = names(of: certificate)
        let der = encoding { tls.pointee.i2d_X509(certificate, $0) } ?? []
        return TLSConfiguration.Certificate(
            der: Data(der), subject: text(ofName: tls.pointee.X509_get_subject_name(certificate)),
            issuer: text(ofName: tls.pointee.X509_get_issuer_name(certificate)),
            names: names.shown, nameCount: names.count,
            notBefore: day(tls.pointee.X509_get0_notBefore(certificate)),
            notAfter: day(tls.pointee.X509_get0_notAfter(certificate)),
            fingerprint: digest(der),
            publicKeyFingerprint: publicKeyFingerprint(of: certificate))
    }

    /// Returns the certificates in a stack, at most `limit`; none if `stack` is nil.
    func certificates(in stack: UnsafeRawPointer?, limit: Int = 10) -> [UnsafeMutableRawPointer] {
        guard let stack else { return [] }
        let count = min(Int(tls.pointee.OPENSSL_sk_num(stack)), limit)
        return (0..<max(0, count)).compactMap { tls.pointee.OPENSSL_sk_value(stack, Int32($0)) }
    }

    /// Returns the SHA-256 fingerprint of a certificate in DER; nil if the library fails.
    func fingerprint(of certificate: UnsafeRawPointer) -> TLSConfiguration.Fingerprint? {
        encoding { tls.pointee.i2d_X509(certificate, $0) }.flatMap(digest)
    }

    /// Returns the SHA-256 fingerprint of a certificate's SubjectPublicKeyInfo; nil if the library fails.
    func publicKeyFingerprint(of certificate: UnsafeRawPointer) -> TLSConfiguration.Fingerprint? {
        guard let key = tls.pointee.X509_get_X509_PUBKEY(certificate) else { return nil }
        return encoding { tls.pointee.i2d_X509_PUBKEY(key, $0) }.flatMap(digest)
    }

    /// Returns the bytes that `encode` writes; its parameter refers to the address to write to.
    ///
    /// Nil if it fails.
    private func encoding(
        _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) -> [UInt8]? {
        let count = Int(encode(nil))
        guard count > 0 else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var position = buffer.baseAddress
            initialized = Int(encode(&position)) == count ? count : 0
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// Returns SHA-256 of `bytes`; nil if the library fails.
    private func digest(_ bytes: [UInt8]) -> TLSConfiguration.Fingerprint? {
        var size: UInt32 = 0
        let result = [UInt8](unsafeUninitializedCapacity: 64) { buffer, initialized in
            let isComputed =
                tls.pointee.EVP_Digest(bytes, bytes.count, buffer.baseAddress, &size, tls.pointee.EVP_sha256(), nil)
                == 1
            initialized = isComputed ? Int(size) : 0
        }
        return TLSConfiguration.Fingerprint(bytes: result)
    }

    /// Returns a day in UTC, such as `2026-01-02`.
    private func day(_ time: UnsafeRawPointer?) -> String {
        var parts = tm()
        guard let time, tls.pointee.ASN1_TIME_to_tm(time, &parts) == 1 else { return "an unknown date" }
        func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(Int(parts.tm_year) + 1900)-\(twoDigits(parts.tm_mon + 1))-\(twoDigits(parts.tm_mday))"
    }

    /// Returns the time until which a certificate is valid, in seconds since 1970; `Int.min` if it is unreadable.
    func expiry(of certificate: UnsafeRawPointer) -> Int {
        var parts = tm()
        guard let time = tls.pointee.X509_get0_notAfter(certificate), tls.pointee.ASN1_TIME_to_tm(time, &parts) == 1
        else { return .min }
        return timegm(&parts)
    }

    private func text(ofName name: UnsafeRawPointer?) -> String {
        guard let name else { return "" }
        // The function escapes bytes other than printable ASCII, and writes NUL at the end.
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let text = tls.pointee.X509_NAME_oneline(name, buffer.baseAddress, 256) else { return "" }
            return String(cString: text)
        }
    }

    /// Returns the DNS names and IP addresses in a certificate, at most 20, and their total number.
    private func names(of certificate: UnsafeRawPointer) -> (shown: [String], count: Int) {
        let subjectAlternativeName: Int32 = 85
        guard let stack = tls.pointee.X509_get_ext_d2i(certificate, subjectAlternativeName, nil, nil) else {
            return ([], 0)
        }
        defer { tls.pointee.GENERAL_NAMES_free(stack) }
        let count = Int(tls.pointee.OPENSSL_sk_num(stack))
        let shown = (0..<max(0, min(count, 20))).compactMap { index -> String? in
            guard let name = tls.pointee.OPENSSL_sk_value(stack, Int32(index)) else { return nil }
            return text(ofGeneralName: name)
        }
        return (shown, count)
    }

    private func text(ofGeneralName name: UnsafeRawPointer) -> String? {
        let dnsName: Int32 = 2, ipAddress: Int32 = 7
        var kind: Int32 = -1
        guard let value = tls.pointee.GENERAL_NAME_get0_value(name, &kind), kind == dnsName || kind == ipAddress,
            let start = tls.pointee.ASN1_STRING_get0_data(value)
        else { return nil }
        let bytes = UnsafeBufferPointer(start: start, count: Int(tls.pointee.ASN1_STRING_length(value)))
        if kind == dnsName { return Self.printable(bytes.prefix(253)) }
        if bytes.count == 4 { return bytes.map { "\($0)" }.joined(separator: ".") }
        guard bytes.count == 16 else { return nil }
        let groups = stride(from: 0, to: 16, by: 2).map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }
        let text = groups.joined(separator: ":")
        return IPAddressText.canonicalIPv6(text[...]) ?? text
    }

    /// Returns a peer's text, with bytes other than printable ASCII as `\xNN`.
    private static func printable(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in
            if (0x21...0x7E).contains(byte) { return String(UnicodeScalar(byte)) }
            return "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
