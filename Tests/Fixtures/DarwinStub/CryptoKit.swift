// swift-format-ignore-file
// Apple's names break our formatting rules.
// The declarations of Apple's CryptoKit that the sources use, with Apple's signatures; nothing is called.
public import Foundation

@preconcurrency public protocol Digest: ContiguousBytes, CustomStringConvertible, Hashable, Sendable, Sequence
where Element == UInt8 {
    static var byteCount: Int { get }
}

extension Digest {
    public var description: String { "" }
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

@preconcurrency public protocol HashFunction: Sendable {
    associatedtype Digest: CryptoKit.Digest
    static var blockByteCount: Int { get }
    init()
    mutating func update(bufferPointer: UnsafeRawBufferPointer)
    func finalize() -> Digest
}

extension HashFunction {
    public static func hash<D: DataProtocol>(data: D) -> Digest { Self().finalize() }
    public mutating func update<D: DataProtocol>(data: D) {}
}

public enum Insecure {
    public struct MD5: HashFunction {
        public static let blockByteCount = 64
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> MD5Digest { MD5Digest() }
    }

    public struct MD5Digest: Digest {
        public static var byteCount: Int { 16 }
    }

    public struct SHA1: HashFunction {
        public static let blockByteCount = 64
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> SHA1Digest { SHA1Digest() }
    }

    public struct SHA1Digest: Digest {
        public static var byteCount: Int { 20 }
    }
}

public struct SHA256: HashFunction {
    public static let blockByteCount = 64
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> SHA256Digest { SHA256Digest() }
}

public struct SHA256Digest: Digest {
    public static var byteCount: Int { 32 }
}

public struct SymmetricKey: Sendable {
    public init<D: ContiguousBytes>(data: D) {}
}

public struct HMAC<H: HashFunction> {
    public typealias MAC = HashedAuthenticationCode<H>
    public static func authenticationCode<D: DataProtocol>(for data: D, using key: SymmetricKey) -> MAC { MAC() }
}

public struct HashedAuthenticationCode<H: HashFunction>: Sequence, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}
