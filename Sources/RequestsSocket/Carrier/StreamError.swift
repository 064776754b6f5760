package import RequestsPOSIX
package import RequestsTLS

/// The error of a transfer over a connection.
package enum StreamError: Error, Sendable {
    case system(SystemError)
    indirect case tls(TLSError)

    var cause: any Error {
        switch self {
        case .system(let error): error
        case .tls(let error): error
        }
    }

    /// Whether the system cannot send this file without reading it.
    var isNotSupportedByFile: Bool {
        if case .system(let error) = self { error.isNotSupportedByFile } else { false }
    }

    /// Whether the peer has reset the connection below TLS.
    var isReset: Bool { if case .system(let error) = self { error.isReset } else { false } }

    /// Whether the connection was closed or reset, as opposed to an error of TLS.
    var isConnectionLoss: Bool {
        switch self {
        case .system: true
        case .tls(let error): error.isConnectionLoss
        }
    }
}

extension StreamError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .system(let error): error.description
        case .tls(let error): error.description
        }
    }
}
