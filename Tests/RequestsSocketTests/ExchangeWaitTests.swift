import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("The waits of an exchange, without sockets", .timeLimit(.minutes(10)))
struct ExchangeWaitTests {
    /// An exchange that waits for an event, in each of the states in which one can.
    enum WaitingState: CaseIterable {
        case blocked, expecting, receivingHead, receivingRemainder, collecting, saving, receivingPiece

        /// Advances an exchange to its wait; files are written to `path`.
        func steps(_ path: String) throws -> ExchangeSteps {
            let partial = ScriptedCarrier.Arrival.bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
            var request = try PreparedRequest.example()
            var arrivals: [ScriptedCarrier.Arrival] = []
            var accepting: [ScriptedCarrier.Acceptance] = []
            switch self {
            case .blocked: accepting = [.bytes(1), .full]
            case .expecting:
                request = try PreparedRequest.example(
                    .put, body: .bytes(Data("abc".utf8)), continueTimeout: .seconds(1))
            case .receivingHead: break
            case .receivingRemainder: arrivals = [.bytes("HTTP/1.1 200")]
            case .collecting: arrivals = [partial]
            case .saving:
                request.delivery = .file(path: path)
                arrivals = [partial]
            case .receivingPiece:
                request.delivery = .streamed
                arrivals = [.bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")]
            }
            request.timeouts.firstByte = .seconds(20)
            request.timeouts.betweenBytes = .seconds(30)
            var steps = try ExchangeSteps(request, arrivals, accepting: accepting)
            if self == .receivingPiece {
                try steps.advance()
                steps.exchange.beginPiece()
            }
            try steps.advance(1)
            return steps
        }

        var log: String {
            switch self {
            case .blocked: "write or read sending"
            case .expecting, .receivingHead: "read firstByte"
            default: "read betweenBytes"
            }
        }

        var phase: RequestError.Phase {
            switch self {
            case .blocked: .sending
            case .expecting, .receivingHead: .firstByte
            default: .betweenBytes
            }
        }

        /// The time limit of the wait in seconds.
        var seconds: Int64 {
            switch self {
            case .expecting: 1
            case .receivingHead: 20
            default: 30
            }
        }

        /// Whether an error of the wait contains the head of the response.
        var hasHead: Bool { self == .collecting || self == .saving || self == .receivingPiece }
    }

    @Test(
        "in each state a wait has its limit, a time-out names its phase, and a cancellation ends the exchange",
        arguments: WaitingState.allCases)
    func failures(in state: WaitingState) throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "saved")
        let begin = Deadline.now
        var steps = try state.steps(path)
        #expect(steps.log == [state.log])
        let limit = try #require(steps.limits.first)
        #expect(limit >= begin.advanced(by: .seconds(state.seconds)))
        #expect(limit <= .after(.seconds(state.seconds)))
        if state == .expecting {
            // The body is sent without the response of the server.
            try steps.exchange.fail(.timedOut, until: limit, in: state.phase)
            try steps.advance(2)
            #expect(steps.log.count == 2 && steps.exchange.carrier.sentText.hasSuffix("\r\n\r\nabc"))
        } else {
            let late = #expect(throws: RequestError.self) {
                try steps.exchange.fail(.timedOut, until: limit, in: state.phase)
            }
            #expect(late?.reason == .timedOut(state.phase) && (late?.response != nil) == state.hasHead)
        }
        var cancelled = try state.steps(path)
        let error = #expect(throws: RequestError.self) {
            try cancelled.exchange.fail(.cancelled, until: limit, in: state.phase)
        }
        #expect(error?.reason == .cancelled && (error?.response != nil) == state.hasHead)
        #expect(cancelled.exchange.isCarrierReusable == false && folder.read("saved") == nil)
    }
}
