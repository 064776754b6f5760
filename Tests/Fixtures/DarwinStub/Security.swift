// swift-format-ignore-file
// Apple's names break our formatting rules.
// The declarations of Apple's Security, CoreFoundation and URLSession that the sources use and Linux lacks, with
// Apple's signatures.
// Values are copied from SecBase.h; nothing is called.
public import Foundation
public import FoundationNetworking

// On Apple's systems these are bridged to the classes and structures here.
public typealias CFArray = NSArray
public typealias CFData = Data
public typealias CFIndex = Int
public typealias CFString = NSString
public typealias OSStatus = Int32

public final class CFAllocator: Sendable {}
public final class CFError: Error, Sendable {}
public final class SecCertificate: Sendable {}
public final class SecPolicy: Sendable {}
public final class SecTrust: Sendable {}

public let errSecSuccess: OSStatus = 0
public let errSecDecode: OSStatus = -26275

public func CFErrorGetCode(_ err: CFError!) -> CFIndex { 0 }
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? { nil }
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { CFData() }
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy { SecPolicy() }
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: AnyObject) -> OSStatus { 0 }
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus { 0 }
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus { 0 }
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { false }

extension URLProtectionSpace {
    public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    public convenience init(trust: SecTrust) {
        self.init(user: "", password: "", persistence: .none)
    }
}

extension URLSessionConfiguration {
    public var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { .TLSv12 }
        set {}
    }
}
