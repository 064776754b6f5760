import CRequestsPOSIX

/// Properties of the terminal that a program writes to.
package enum Terminal {
    package static let standardOutput: Int32 = 1
    package static let standardError: Int32 = 2

    package static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// Returns the terminal's width in columns; nil for a file or a pipe, or if the terminal does not report it.
    package static func columns(of descriptor: Int32) -> Int? {
        let columns = Int(rp_terminal_columns(descriptor))
        return columns > 0 ? columns : nil
    }

    /// Returns whether to print colors: on a terminal, unless `TERM` is `dumb` or `NO_COLOR` is not empty
    /// (no-color.org).
    package static func wantsColor(
        _ descriptor: Int32, environment: (String) -> String? = Terminal.environment
    ) -> Bool {
        isTerminal(descriptor) && allowsColor(environment)
    }

    package static func allowsColor(_ environment: (String) -> String?) -> Bool {
        (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
    }

    /// Returns the value of an environment variable, or nil if it is not set.
    package static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
