@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import Testing

/// An observer that records what happens, in order.
final class RecordingObserver: Observing.Observer {
    private let name: String
    private let log: SharedLog

    init(_ name: String = "", log: SharedLog = SharedLog()) {
        self.name = name
        self.log = log
    }

    var reports: [Observing.Report] { log.reports }

    func begin(_ observation: inout Observing.Observation) -> Observing.Handler? {
        log.add("\(name) begin")
        observation.bodyLimit = max(observation.bodyLimit, 4)
        return { [name, log] event in
            switch event {
            case .head: log.add("\(name) head")
            case .end(let report): log.add("\(name) end", report)
            }
        }
    }
}

/// The steps and the reports of several observers.
final class SharedLog: Sendable {
    private let state = Lock((steps: [String](), reports: [Observing.Report]()))

    func add(_ step: String, _ report: Observing.Report? = nil) {
        state.withLock { state in
            state.steps.append(step)
            if let report { state.reports.append(report) }
        }
    }

    var steps: [String] { state.withLock { $0.steps } }
    var reports: [Observing.Report] { state.withLock { $0.reports } }
}

/// A list to which sinks append.
final class Collected<Element: Sendable>: Sendable {
    private let list = Lock([Element]())

    func add(_ element: Element) { list.withLock { $0.append(element) } }

    var elements: [Element] { list.withLock { $0 } }
}

extension Observing.Report {
    /// The outcome in one word.
    var result: String {
        switch outcome {
        case .complete: "complete"
        case .abandoned: "abandoned"
        case .failed(let error): error.isCancellation ? "cancelled" : "failed"
        }
    }
}

/// Returns a request whose response is streamed.
func streamedRequest(_ api: AnonymousRequestProvider, _ path: String = "x") throws -> PreparedRequest {
    var request = try api.get(.data, from: "/\(path)").prepared()
    request.delivery = .streamed
    return request
}
