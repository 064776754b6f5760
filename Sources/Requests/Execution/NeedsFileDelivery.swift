/// An executor or a middleware that has to see a request for a file as it is.
///
/// It goes on with downloads, or writes what it has decoded by itself; what stands before it does not ask it for a stream
/// instead.
package protocol NeedsFileDelivery {
    var needsFileDelivery: Bool { get }
}

extension Intercepted: NeedsFileDelivery {
    /// Whether anything behind here does.
    package var needsFileDelivery: Bool {
        func needs(_ part: Any) -> Bool { (part as? any NeedsFileDelivery)?.needsFileDelivery ?? false }
        return needs(middleware) || needs(base)
    }
}
