import CRequestsPOSIX

/// What a program that prints may know about where it prints to.
package enum Terminal {
    package static let standardOutput: Int32 = 1
    package static let standardError: Int32 = 2

    package static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// Columns of the terminal; `nil` for a file or a pipe, and where the terminal does not know.
    package static func columns(of descriptor: Int32) -> Int? {
        let columns = Int(rp_terminal_columns(descriptor))
        return columns > 0 ? columns : nil
    }

    /// Whether to print colours: on a terminal that is not `TERM=dumb`, unless `NO_COLOR` has a value (no-color.org).
    package static func wantsColor(
        _ descriptor: Int32, environment: (String) -> String? = Terminal.environment
    ) -> Bool {
        isTerminal(descriptor) && allowsColor(environment)
    }

    /// The environment's part of the question.
    package static func allowsColor(_ environment: (String) -> String?) -> Bool {
        (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
    }

    /// The value of an environment variable; `nil` when it is not set.
    package static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
