internal import CRequestsPOSIX

/// Functions of libssl and libcrypto that only tests call.
package enum NativeFunctions {
    package typealias OfSSL = @convention(c) (UnsafeMutableRawPointer?) -> Int32
    package typealias OfSSLAndNumber = @convention(c) (UnsafeMutableRawPointer?, Int32) -> Int32
    package typealias OfSSLAndOptions = @convention(c) (UnsafeMutableRawPointer?, UInt64) -> UInt64
    package typealias Context = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    package typealias SelectCallback =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
            UnsafePointer<UInt8>?, UInt32, UnsafeMutableRawPointer?
        ) -> Int32
    package typealias SetSelectCallback =
        @convention(c) (
            UnsafeMutableRawPointer?, SelectCallback?, UnsafeMutableRawPointer?
        ) -> Void
    package typealias ReadCertificate =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, Int
        ) -> UnsafeMutableRawPointer?
    package typealias SetVerify =
        @convention(c) (UnsafeMutableRawPointer?, Int32, (@convention(c) (Int32, UnsafeMutableRawPointer?) -> Int32)?)
        ->
        Void
    package typealias PeekError = @convention(c) () -> UInt

    /// Returns a function of the library that connections use; nil if it lacks the function.
    package static func find<Function>(_ name: String, as type: Function.Type) -> Function? {
        guard let library = TestTLS.files.lazy.compactMap({ rp_library_open($0) }).first,
            let address = dlsym(library, name)
        else { return nil }
        return unsafeBitCast(address, to: type)
    }
}
