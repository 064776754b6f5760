import Requests
import RequestsPOSIX

/// Lays the tour out as text: numbered stops, the wire text beside a bar, the value, a row of times.
struct TourPage {
    let style: Style

    func opening(baseURL: URL, environments: [String]) -> String {
        """
        \(style.bold("requests-tour")): one API, described once, performed in \(environments.count) environments
        \(style.dim("\(baseURL) · \(environments.joined(separator: " · "))"))

        """
    }

    func stop(number: Int, _ stop: Stop, wire: String, visits: [Visit]) -> String {
        let label = String(repeating: " ", count: number < 10 ? 1 : 0) + "\(number)"
        var lines = ["\(style.bold("\(label)  \(stop.title)"))"]
        lines += wire.split(separator: "\n", omittingEmptySubsequences: false).reversed()
            .drop { $0.isEmpty }.reversed().map { style.dim("    │ \($0)") }
        lines += outcome(of: visits)
        let times = visits.map { visit in "\(visit.environment) \(Self.padded(Self.text(of: visit.duration), to: 9))" }
        lines.append(style.dim("      " + times.joined(separator: "   ")))
        return lines.joined(separator: "\n") + "\n"
    }

    func closing(stops: Int, environments: Int, disagreements: Int) -> String {
        disagreements == 0
            ? style.green("✓ \(stops) stops in \(environments) environments: all agree")
            : style.red("✗ \(disagreements) of \(stops) stops disagree")
    }

    /// The value once when all agree, else each environment's own.
    private func outcome(of visits: [Visit]) -> [String] {
        guard let first = visits.first, visits.contains(where: { $0.value != first.value }) else {
            return visits.first.map { ["    \(style.green("✓")) \($0.value)"] } ?? []
        }
        return visits.map { "    \(style.red("✗")) \($0.environment): \($0.value)" }
    }

    private static func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// Three significant digits are plenty for one run.
    private static func text(of duration: Duration) -> String {
        let microseconds = duration / .microseconds(1)
        return microseconds < 10_000 ? "\(Int(microseconds)) µs" : "\(Int(microseconds / 1000)) ms"
    }
}

/// What came of one stop in one environment.
struct Visit {
    let environment: String
    let value: String
    let duration: Duration
}

/// Colour on a terminal that wants it, plain text everywhere else.
struct Style {
    let isColoured: Bool

    func bold(_ text: String) -> String { wrapped(text, "1") }
    func dim(_ text: String) -> String { wrapped(text, "2") }
    func green(_ text: String) -> String { wrapped(text, "32") }
    func red(_ text: String) -> String { wrapped(text, "31") }

    private func wrapped(_ text: String, _ code: String) -> String {
        isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
