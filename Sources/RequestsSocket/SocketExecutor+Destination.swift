extension SocketExecutor {
    /// The peer to which an executor connects.
    @nonexhaustive
    public enum Destination: Hashable, Sendable {
        /// The host and port of each request's URL.
        case url
        /// The unix socket at `path`, for all URLs; the Host field still comes from the URL.
        ///
        /// The path has at most 107 bytes on Linux, 103 on Darwin. On Linux a leading `@` denotes an abstract name. A
        /// redirect to another origin fails with ``/Requests/RequestError/Reason/unexpectedRedirect``, because this
        /// socket does not serve that origin.
        case unix(path: String)
    }
}
