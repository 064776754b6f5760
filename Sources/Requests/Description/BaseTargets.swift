/// A cache of the base URLs that were used last, as targets.
///
/// An API has one base URL and supplies it for each of its requests. Parsing it every time would take 16,800
/// instructions, as many as the exchange itself.
package enum BaseTargets {
    private static let recent = Lock<[(text: String, target: TargetURI)]>([])

    /// Returns the target for the absolute URL `text`.
    package static func target(of text: String) throws(RequestError) -> TargetURI {
        if let known = recent.withLock({ $0.first { $0.text.hasSameBytes(as: text) }?.target }) { return known }
        let target = try TargetURI(checking: text)
        recent.withLock { recent in
            // Four entries, because programs use few APIs at a time and the search is linear.
            if recent.count == 4 { recent.removeFirst() }
            recent.append((text, target))
        }
        return target
    }
}
