internal import RequestsPOSIX

/// The time and scope of a signature, and the key derived for them.
package struct AWSScope: Sendable {
    /// The time, such as `20261122T083000Z`.
    let timestamp: String
    /// The date, region and service, such as `20261122/eu-central-1/s3/aws4_request`.
    let text: String
    private let key: Data
    private let hashes: any HashProvider

    /// Derives the key for the current day, or uses the one that was derived before.
    ///
    /// - Throws: `CredentialError` for a date outside the years 1970 to 9999, or a `HashError`.
    package init(_ signature: AWSSignature) throws {
        let timestamp = try Self.timestamp(signature.now())
        let date = String(timestamp.droppingLastBytes(8))
        self.timestamp = timestamp
        text = "\(date)/\(signature.region)/\(signature.service)/aws4_request"
        hashes = signature.hashes
        key = try signature.keys.key(
            for: [date, signature.region, signature.service, "aws4_request"],
            secret: signature.credentials.secretAccessKey, hashes)
    }

    /// Returns the signature of a request, in hexadecimal.
    func signature(of request: AWSCanonicalRequest) throws -> String {
        let hash = HexadecimalText.of(try hashes.digest(of: Data(request.text.utf8), with: .sha256))
        return try code(of: "AWS4-HMAC-SHA256\n\(timestamp)\n\(text)\n\(hash)")
    }

    /// Returns the signature of a chunk that follows one with the signature `previous`, in hexadecimal.
    package func signature(of chunk: Data, after previous: String) throws -> String {
        let (none, hash) = (
            try hashes.digest(of: Data(), with: .sha256), try hashes.digest(of: chunk, with: .sha256)
        )
        return try code(
            of: "AWS4-HMAC-SHA256-PAYLOAD\n\(timestamp)\n\(text)\n\(previous)\n\(HexadecimalText.of(none))\n"
                + HexadecimalText.of(hash))
    }

    private func code(of text: String) throws -> String {
        HexadecimalText.of(try hashes.authenticationCode(of: Data(text.utf8), key: key, with: .sha256))
    }

    /// Returns a date in the basic format of ISO 8601, in UTC.
    static func timestamp(_ date: Date) throws(CredentialError) -> String {
        let time = date.timeIntervalSince1970
        guard time >= 0, time < 253_402_300_800 else { throw .invalidSigningValue("the date") }
        let (days, seconds) = Int(time).quotientAndRemainder(dividingBy: 86_400)
        let day = CivilDate(daysSince1970: days)
        let parts = [
            (day.year, 4), (day.month, 2), (day.day, 2), (seconds / 3_600, 2), (seconds / 60 % 60, 2),
            (seconds % 60, 2),
        ].map { value, width in
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        return "\(parts[0])\(parts[1])\(parts[2])T\(parts[3])\(parts[4])\(parts[5])Z"
    }
}
