/// A pointer to memory that several threads may use at once.
///
/// It is for objects of OpenSSL that are complete before they are shared, and that synchronize later changes in OpenSSL
/// (the caches of an SSL_CTX), and for tables that are written once.
package struct SharedPointer: @unchecked Sendable {  // the creator promises the above; a pointer itself is a number
    package let address: UnsafeMutableRawPointer

    package init(address: UnsafeMutableRawPointer) {
        self.address = address
    }
}
