import Requests
import RequestsBench
import RequestsMiddleware

/// A measurement of the time that a jar takes to find the cookies of a request.
struct CookieCost: Sendable {
    let rounds: Int
    let scale: Double

    private static let date = Date(timeIntervalSince1970: 1_000_000_000)

    /// Returns a jar with 3,000 cookies of 300 hosts, ten of which belong to a request.
    private static func jar() throws -> CookieJar {
        var jar = CookieJar()
        for host in 0..<300 {
            let target = try TargetURI("https://api\(host).example\(host % 60).com/v1/items")
            for number in 0..<10 {
                jar.store("cookie\(number)=0123456789abcdef; Secure; Max-Age=86400", from: target, at: date)
            }
        }
        guard jar.count == 3_000 else { throw BenchmarkError("the jar has \(jar.count) cookies") }
        return jar
    }

    func figures() throws -> [Figure] {
        var jar = try Self.jar()
        let target = try TargetURI("https://api123.example3.com/v1/items/7")
        let other = try TargetURI("https://www.example.org/v1/items/7")
        guard jar.cookies(for: target, at: Self.date).count == 10 else { throw BenchmarkError("cookies are missing") }
        var samples: [[Double]] = [[], []]
        for _ in 0..<rounds {
            samples[0].append(microseconds { _ = jar.cookies(for: target, at: Self.date) })
            samples[1].append(microseconds { _ = jar.cookies(for: other, at: Self.date) })
        }
        return [
            .of("10 of 3,000 cookies for a request", "µs", samples[0], goal: "≤ 5 µs"),
            .of("none of 3,000 cookies for a request", "µs", samples[1], goal: "≤ 5 µs"),
        ]
    }

    private func microseconds(_ body: () -> Void) -> Double {
        let count = max(1, Int(20_000 * scale))
        let start = ContinuousClock.now
        for _ in 0..<count { body() }
        return (ContinuousClock.now - start) / .microseconds(1) / Double(count)
    }
}
