/// The base URLs read last: an API has one, and gives it for each of its requests.
enum BaseTargets {
    private static let recent = Lock<[(text: String, target: TargetURI)]>([])

    /// The target that `text` spells.
    static func target(of text: String) throws(RequestError) -> TargetURI {
        if let known = recent.withLock({ $0.first { $0.text.hasSameBytes(as: text) }?.target }) { return known }
        let target = try TargetURI(checking: text)
        recent.withLock { recent in
            if recent.count == 4 { recent.removeFirst() }
            recent.append((text, target))
        }
        return target
    }
}
