package import RequestsPOSIX
package import RequestsTLS

/// The error of a transfer over a connection.
package enum StreamError: Error, Sendable {
    /// A system call failed.
    case system(SystemError)
    /// TLS failed.
    indirect case tls(TLSError)

    /// The error of the system or of TLS.
    var cause: any Error {
        switch self {
        case .system(let error): error
        case .tls(let error): error
        }
    }

    /// Whether a file cannot be sent without reading it.
    var isNotSupportedByFile: Bool {
        if case .system(let error) = self { error.isNotSupportedByFile } else { false }
    }

    /// Whether the peer has reset the connection below TLS.
    var isReset: Bool { if case .system(let error) = self { error.isReset } else { false } }

    /// Whether the reason has nothing to do with TLS: the connection was closed or reset.
    var isConnectionLoss: Bool {
        switch self {
        case .system: true
        case .tls(let error): error.isConnectionLoss
        }
    }
}

extension StreamError: CustomStringConvertible {
    /// The reason in one line.
    package var description: String {
        switch self {
        case .system(let error): error.description
        case .tls(let error): error.description
        }
    }
}
