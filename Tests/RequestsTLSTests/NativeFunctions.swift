import CRequestsPOSIX
import TestSupport

/// Functions of libssl and libcrypto that only tests call.
enum NativeFunctions {
    typealias OfSSL = @convention(c) (UnsafeMutableRawPointer?) -> Int32
    typealias OfSSLAndNumber = @convention(c) (UnsafeMutableRawPointer?, Int32) -> Int32
    typealias OfSSLAndOptions = @convention(c) (UnsafeMutableRawPointer?, UInt64) -> UInt64
    typealias Context = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    typealias SelectCallback =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
            UnsafePointer<UInt8>?, UInt32, UnsafeMutableRawPointer?
        ) -> Int32
    typealias SetSelectCallback =
        @convention(c) (
            UnsafeMutableRawPointer?, SelectCallback?, UnsafeMutableRawPointer?
        ) -> Void
    typealias ReadCertificate =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, Int
        ) -> UnsafeMutableRawPointer?
    typealias PeekError = @convention(c) () -> UInt

    /// Returns a function of the library that connections use; nil if it lacks the function.
    static func find<Function>(_ name: String, as type: Function.Type) -> Function? {
        guard let library = TestTLS.files.lazy.compactMap({ rp_library_open($0) }).first,
            let address = dlsym(library, name)
        else { return nil }
        return unsafeBitCast(address, to: type)
    }
}
