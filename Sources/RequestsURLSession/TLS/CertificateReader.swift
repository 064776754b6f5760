import RequestsPOSIX

/// The content of an X.509 certificate (RFC 5280 §4) that pins and an app's check of the server need.
///
/// Apple's functions do not return the encoded public key and the names of a certificate on every system.
struct CertificateReader {
    private let der: Data
    private let issuer: ArraySlice<UInt8>
    private let subject: ArraySlice<UInt8>
    private let validity: DERReader
    private let publicKey: ArraySlice<UInt8>
    private let alternativeNames: ArraySlice<UInt8>?

    /// Creates the content of a certificate; nil if `der` is not one.
    init?(_ der: Data) {
        var whole = DERReader(Array(der)[...])
        guard let certificate = whole.next(Tag.sequence), whole.remaining.isEmpty else { return nil }
        var parts = certificate.reader
        guard var fields = parts.next(Tag.sequence)?.reader else { return nil }
        _ = fields.next(Tag.context(0))  // the version
        guard fields.next(Tag.integer) != nil, fields.next(Tag.sequence) != nil,
            let issuer = fields.next(Tag.sequence), let validity = fields.next(Tag.sequence),
            let subject = fields.next(Tag.sequence), let publicKey = fields.next(Tag.sequence)
        else { return nil }
        self.der = der
        self.issuer = issuer.content
        self.subject = subject.content
        self.validity = validity.reader
        self.publicKey = publicKey.encoded
        alternativeNames = Self.alternativeNames(in: &fields)
    }

    /// Returns the encoded subjectAltName; nil if the certificate has none.
    private static func alternativeNames(in fields: inout DERReader) -> ArraySlice<UInt8>? {
        while let field = fields.next() {
            guard field.tag == Tag.context(3) else { continue }
            var inner = field.reader
            guard var extensions = inner.next(Tag.sequence)?.reader else { return nil }
            while var parts = extensions.next(Tag.sequence)?.reader {
                let isWanted = parts.next(Tag.identifier).map { $0.content.elementsEqual([0x55, 0x1D, 0x11]) } ?? false
                _ = parts.next(Tag.boolean)
                guard isWanted, var value = parts.next(Tag.octets)?.reader else { continue }
                return value.next(Tag.sequence)?.content
            }
        }
        return nil
    }

    /// The SHA-256 fingerprint of the SubjectPublicKeyInfo (RFC 7469 §2.4).
    var publicKeyFingerprint: TLSConfiguration.Fingerprint? { Self.digest(Data(publicKey)) }

    /// The SHA-256 digest of the certificate.
    var fingerprint: TLSConfiguration.Fingerprint? { Self.digest(der) }

    private static func digest(_ bytes: Data) -> TLSConfiguration.Fingerprint? {
        (try? SystemHashes.shared.digest(of: bytes, with: .sha256)).flatMap { TLSConfiguration.Fingerprint(bytes: $0) }
    }

    /// The content in the form in which an error contains certificates.
    var summary: TLSConfiguration.Certificate {
        var times = validity
        let names = names
        return TLSConfiguration.Certificate(
            der: der, subject: Self.text(ofName: subject), issuer: Self.text(ofName: issuer), names: names.shown,
            nameCount: names.count, notBefore: Self.day(times.next()), notAfter: Self.day(times.next()),
            fingerprint: fingerprint, publicKeyFingerprint: publicKeyFingerprint)
    }

    private enum Tag {
        static let boolean: UInt8 = 0x01
        static let integer: UInt8 = 0x02
        static let octets: UInt8 = 0x04
        static let identifier: UInt8 = 0x06
        static let utcTime: UInt8 = 0x17
        static let generalizedTime: UInt8 = 0x18
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31

        static func context(_ number: UInt8) -> UInt8 { 0xA0 | number }
    }
}

// MARK: Texts

extension CertificateReader {
    /// Returns a day in UTC, such as `2026-01-02` (RFC 5280 §4.1.2.5).
    private static func day(_ time: DERReader.Value?) -> String {
        guard let time, time.content.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: "Z") }) else {
            return "an unknown date"
        }
        var digits = String(decoding: time.content, as: UTF8.self)
        switch (time.tag, digits.utf8.count) {
        case (Tag.utcTime, 13):
            digits = (digits.utf8.first.map { $0 >= UInt8(ascii: "5") } ?? false ? "19" : "20") + digits
        case (Tag.generalizedTime, 15): break
        default: return "an unknown date"
        }
        let parts = Array(digits.utf8)
        return [parts[0..<4], parts[4..<6], parts[6..<8]].map { String(decoding: $0, as: UTF8.self) }
            .joined(separator: "-")
    }

    /// Returns a name as `/C=US/O=Example`, at most 255 bytes.
    ///
    /// The text ends before the first attribute that does not fit.
    private static func text(ofName name: ArraySlice<UInt8>) -> String {
        var text = ""
        var sets = DERReader(name)
        while var attributes = sets.next(Tag.set)?.reader {
            while var parts = attributes.next(Tag.sequence)?.reader {
                guard let kind = parts.next(Tag.identifier), let value = parts.next() else { continue }
                let attribute = "/\(label(of: kind.content))=\(escaped(value.content.prefix(256)))"
                if text.utf8.count + attribute.utf8.count > 255 { return text }
                text += attribute
            }
        }
        return text
    }

    /// Returns the value of an attribute, in which the separators of names are escaped as well.
    private static func escaped(_ value: ArraySlice<UInt8>) -> String {
        value.map { byte in
            let isSeparator = byte == UInt8(ascii: "/") || byte == UInt8(ascii: "+")
            return (isSeparator ? "\\" : "") + printable([byte], from: 0x20, digits: .uppercase)
        }.joined()
    }

    /// Returns the short name of an attribute (RFC 4519 §2), or its numbers.
    private static func label(of identifier: ArraySlice<UInt8>) -> String {
        let bytes = Array(identifier)
        if bytes == [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x01] { return "emailAddress" }
        if bytes == [0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 0x01, 0x19] { return "DC" }
        if bytes.count == 3, bytes.starts(with: [0x55, 0x04]), let label = labels[bytes[2]] { return label }
        var numbers: [Int] = []
        var number = 0
        for byte in bytes {
            guard number < 1 << 48 else { return "unknown" }
            number = number << 7 | Int(byte & 0x7F)
            if byte >= 0x80 { continue }
            numbers += numbers.isEmpty ? [min(number / 40, 2), number - min(number / 40, 2) * 40] : [number]
            number = 0
        }
        return numbers.map { "\($0)" }.joined(separator: ".")
    }

    /// The attributes of X.520, whose numbers begin with 2.5.4.
    private static let labels: [UInt8: String] = [
        3: "CN", 4: "SN", 5: "serialNumber", 6: "C", 7: "L", 8: "ST", 9: "street", 10: "O", 11: "OU", 12: "title",
        42: "GN", 97: "organizationIdentifier",
    ]

    /// The DNS names and IP addresses, at most 20, and the number of all names.
    private var names: (shown: [String], count: Int) {
        guard let alternativeNames else { return ([], 0) }
        var values = DERReader(alternativeNames)
        var shown: [String] = []
        var count = 0
        while let value = values.next() {
            count += 1
            let dnsName: UInt8 = 0x82, address: UInt8 = 0x87
            if count > 20 { continue }
            switch value.tag {
            case dnsName: shown.append(Self.printable(value.content.prefix(253), from: 0x21, digits: .lowercase))
            case address: shown += Self.text(ofAddress: Array(value.content)).map { [$0] } ?? []
            default: break
            }
        }
        return (shown, count)
    }

    private static func text(ofAddress bytes: [UInt8]) -> String? {
        if bytes.count == 4 { return bytes.map { "\($0)" }.joined(separator: ".") }
        guard bytes.count == 16 else { return nil }
        let groups = stride(from: 0, to: 16, by: 2).map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }
        let text = groups.joined(separator: ":")
        return IPAddressText.canonicalIPv6(text[...]) ?? text
    }

    private enum Digits {
        case uppercase, lowercase
    }

    /// Returns a peer's text, with bytes other than printable ASCII as `\xNN`.
    private static func printable(_ bytes: ArraySlice<UInt8>, from first: UInt8, digits: Digits) -> String {
        bytes.map { byte in
            if (first...0x7E).contains(byte) { return String(UnicodeScalar(byte)) }
            return "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: digits == .uppercase)
        }.joined()
    }
}
