/// A pointer to memory that several threads may use at once.
///
/// It is for objects of OpenSSL that are complete before they are shared, and that synchronize later changes in OpenSSL
/// (the caches of an SSL_CTX), and for tables that are written once.
// Unchecked: the creator of the value promises this; a pointer itself is a number.
struct SharedPointer: @unchecked Sendable {
    let address: UnsafeMutableRawPointer
}
