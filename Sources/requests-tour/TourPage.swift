import Requests
import RequestsPOSIX

/// The layout of the tour as text: numbered steps, each with the wire text next to a bar, the value and a row of times.
struct TourPage {
    let style: Style

    func opening(baseURL: URL, environments: [String]) -> String {
        """
        \(style.bold("requests-tour")): one API, described once, performed in \(environments.count) environments
        \(style.dim("\(baseURL) · \(environments.joined(separator: " · "))"))

        """
    }

    func step(number: Int, title: String, wireText: String, results: [StepResult]) -> String {
        let label = String(repeating: " ", count: number < 10 ? 1 : 0) + "\(number)"
        var lines = ["\(style.bold("\(label)  \(title)"))"]
        lines += wireText.split(separator: "\n", omittingEmptySubsequences: false).reversed()
            .drop { $0.isEmpty }.reversed().map { style.dim("    │ \($0)") }
        lines += outcome(of: results)
        let times = results.map { result in
            "\(result.environment) \(Self.padded(Self.text(of: result.duration), to: 9))"
        }
        lines.append(style.dim("      " + times.joined(separator: "   ")))
        return lines.joined(separator: "\n") + "\n"
    }

    func closing(steps: Int, environments: Int, disagreements: Int) -> String {
        disagreements == 0
            ? style.green("✓ \(steps) steps in \(environments) environments: all agree")
            : style.red("✗ \(disagreements) of \(steps) steps disagree")
    }

    /// Returns the value once if all environments agree, otherwise the value of each environment.
    private func outcome(of results: [StepResult]) -> [String] {
        guard let first = results.first, results.contains(where: { $0.value != first.value }) else {
            return results.first.map { ["    \(style.green("✓")) \($0.value)"] } ?? []
        }
        return results.map { "    \(style.red("✗")) \($0.environment): \($0.value)" }
    }

    private static func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// Returns a duration in whole microseconds or milliseconds, which is precise enough for a single run.
    private static func text(of duration: Duration) -> String {
        let microseconds = duration / .microseconds(1)
        return microseconds < 10_000 ? "\(Int(microseconds)) µs" : "\(Int(microseconds / 1000)) ms"
    }
}

/// The result of one step in one environment.
struct StepResult {
    let environment: String
    let value: String
    let duration: Duration
}

/// Text styles: colors on a terminal that supports them, plain text elsewhere.
struct Style {
    let isColored: Bool

    func bold(_ text: String) -> String { wrapped(text, "1") }
    func dim(_ text: String) -> String { wrapped(text, "2") }
    func green(_ text: String) -> String { wrapped(text, "32") }
    func red(_ text: String) -> String { wrapped(text, "31") }

    private func wrapped(_ text: String, _ code: String) -> String {
        isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
