extension TargetURI {
    /// Creates a target from the text of an absolute URI.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/invalidRequest(_:)``.
    init(checking text: String) throws(RequestError) {
        do {
            self = try TargetURI(text)
        } catch {
            throw RequestError(.invalidRequest(error), detail: ErrorText.quoted(url: text))
        }
    }
}
