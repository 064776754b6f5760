/// An executor or middleware that must receive a request for a file unchanged.
///
/// It resumes downloads or writes decoded content to the file itself, so middleware before it does not replace the file
/// delivery with a stream.
package protocol NeedsFileDelivery {
    /// Whether a request for a file must arrive unchanged.
    var needsFileDelivery: Bool { get }
}

extension Intercepted: NeedsFileDelivery {
    /// Whether the middleware or the executor behind it needs file delivery.
    package var needsFileDelivery: Bool {
        func needs(_ part: Any) -> Bool { (part as? any NeedsFileDelivery)?.needsFileDelivery ?? false }
        return needs(middleware) || needs(base)
    }
}
