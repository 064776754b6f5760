import CRequestsPOSIX
import Requests

extension LoadedTLS {
    /// Returns the certificates in `bytes`, at least one; the caller frees them.
    ///
    /// - Parameters:
    ///   - bytes: PEM with text around it, or DER.
    ///   - name: The source as a phrase for errors.
    /// - Returns: Certificates, each with a reference.
    /// - Throws: ``TLSError`` with ``TLSError/Problem/configuration`` if there is none, or one is invalid.
    func certificates(in bytes: Data, _ name: String) throws(TLSError) -> [UnsafeMutableRawPointer] {
        tls.pointee.ERR_clear_error()
        var found: [UnsafeMutableRawPointer] = []
        let isComplete = bytes.isPEM ? readPEM(bytes, &found) : readDER(bytes, &found)
        if isComplete, !found.isEmpty { return found }
        found.forEach { tls.pointee.X509_free($0) }
        let problem =
            isComplete ? "no certificate found" : "certificate \(found.count + 1) is invalid"
        throw TLSError(.configuration, "\(name): \(problem); use PEM or DER\(causes())")
    }

    /// Appends the certificates in PEM text, and returns whether all are valid.
    private func readPEM(_ bytes: Data, _ found: inout [UnsafeMutableRawPointer]) -> Bool {
        withBIO(over: bytes) { bio in
            while let certificate = tls.pointee.PEM_read_bio_X509(bio, nil, { _, _, _, _ in -1 }, nil) {
                found.append(certificate)
            }
            // PEM_R_NO_START_LINE: the end.
            let noFurtherCertificate = 108
            guard reason(of: tls.pointee.ERR_peek_error()) == noFurtherCertificate else { return false }
            tls.pointee.ERR_clear_error()
            return true
        } ?? false
    }

    /// Appends the certificates in DER bytes, and returns whether the bytes contain nothing else.
    private func readDER(_ bytes: Data, _ found: inout [UnsafeMutableRawPointer]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            let bytes = bytes.bindMemory(to: UInt8.self)
            guard let start = bytes.baseAddress else { return true }
            var position: UnsafePointer<UInt8>? = start
            while let current = position, current < start + bytes.count {
                guard let certificate = tls.pointee.d2i_X509(nil, &position, start + bytes.count - current) else {
                    return false
                }
                found.append(certificate)
            }
            return true
        }
    }

    /// Returns the private key in `bytes`; the caller frees it.
    ///
    /// - Throws: ``TLSError`` with ``TLSError/Problem/configuration``, without any part of the key.
    func privateKey(
        in bytes: Data, passphrase: (@Sendable () throws -> String)?
    ) throws(TLSError) -> UnsafeMutableRawPointer {
        tls.pointee.ERR_clear_error()
        let request = PassphraseRequest(passphrase)
        let key = withExtendedLifetime(request) {
            bytes.isPEM ? keyOfPEM(bytes, request) : keyOfDER(bytes)
        }
        if let key {
            tls.pointee.ERR_clear_error()
            return key
        }
        let problem =
            if request.wasNeeded, passphrase == nil {
                "it is encrypted, and the identity has no passphrase; set one"
            } else if request.hasFailed {
                "its passphrase is unavailable"
            } else if request.wasNeeded {
                "the passphrase is wrong, or the key is damaged"
            } else {
                "a key as PEM or DER is needed\(causes())"
            }
        // The causes of other problems are left out: they mention the format, which is misleading for a wrong
        // passphrase.
        tls.pointee.ERR_clear_error()
        throw TLSError(.configuration, "could not read the private key: \(problem)")
    }

    private func keyOfPEM(_ bytes: Data, _ request: PassphraseRequest) -> UnsafeMutableRawPointer? {
        withBIO(over: bytes) { bio in
            // Without this function, OpenSSL would read the passphrase from the terminal.
            tls.pointee.PEM_read_bio_PrivateKey(
                bio, nil, { PassphraseRequest.write($0, $1, $3) }, Unmanaged.passUnretained(request).toOpaque())
        } ?? nil
    }

    private func keyOfDER(_ bytes: Data) -> UnsafeMutableRawPointer? {
        bytes.withUnsafeBytes { bytes in
            var position = bytes.bindMemory(to: UInt8.self).baseAddress
            return tls.pointee.d2i_AutoPrivateKey(nil, &position, bytes.count)
        }
    }

    /// Calls `body` with a BIO that reads `bytes`; returns nil if there is no memory for it.
    private func withBIO<Result>(over bytes: Data, _ body: (UnsafeMutableRawPointer) -> Result) -> Result? {
        bytes.withUnsafeBytes { bytes in
            guard let bio = tls.pointee.BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
                return nil
            }
            defer { _ = tls.pointee.BIO_free(bio) }
            return body(bio)
        }
    }
}

extension Data {
    /// Whether these bytes contain the begin of a PEM block (RFC 7468 §2).
    fileprivate var isPEM: Bool { firstRange(of: Data("-----BEGIN ".utf8)) != nil }
}

/// The passphrase of a key while the key is being read.
private final class PassphraseRequest {
    private let passphrase: (@Sendable () throws -> String)?
    private var bytes: [UInt8]?
    private(set) var wasNeeded = false
    private(set) var hasFailed = false

    init(_ passphrase: (@Sendable () throws -> String)?) {
        self.passphrase = passphrase
    }

    /// Writes the passphrase.
    ///
    /// Returns its length, or -1 if there is none.
    static func write(_ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ request: UnsafeMutableRawPointer?)
        -> Int32
    {
        guard let buffer, let request else { return -1 }
        return Unmanaged<PassphraseRequest>.fromOpaque(request).takeUnretainedValue().write(buffer, Int(size))
    }

    private func write(_ buffer: UnsafeMutablePointer<CChar>, _ size: Int) -> Int32 {
        wasNeeded = true
        if bytes == nil, !hasFailed { call() }
        guard let bytes, bytes.count <= size else { return -1 }
        for (index, byte) in bytes.enumerated() { buffer[index] = CChar(bitPattern: byte) }
        return Int32(bytes.count)
    }

    private func call() {
        guard let passphrase else { return }
        do {
            bytes = Array(try passphrase().utf8)
        } catch {
            hasFailed = true
        }
    }
}

// MARK: Errors of OpenSSL

extension LoadedTLS {
    /// Returns the reason in an error of OpenSSL, whose layout differs between the versions.
    func reason(of error: UInt) -> Int {
        isVersion3 ? Int(error & 0x7F_FFFF) : Int(error & 0xFFF)
    }

    /// Returns the texts of this thread's errors, and clears them.
    func takeErrors() -> String {
        var texts: [String] = []
        while case let error = tls.pointee.ERR_get_error(), error != 0, texts.count < 4 {
            if let text = tls.pointee.ERR_reason_error_string(error) { texts.append(String(cString: text)) }
        }
        tls.pointee.ERR_clear_error()
        return texts.isEmpty ? "an unknown error" : texts.joined(separator: ", ")
    }

    /// Returns the texts of this thread's errors in parentheses, or nothing, and clears them.
    private func causes() -> String {
        tls.pointee.ERR_peek_error() == 0 ? "" : " (\(takeErrors()))"
    }
}
