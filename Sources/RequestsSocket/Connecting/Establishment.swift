import Requests
import RequestsPOSIX
import RequestsTLS

/// A state machine that makes a connected socket ready for requests, and never waits (decision 0031).
///
/// It performs these steps in order, each only if the connection needs it: TLS to a proxy, a tunnel, TLS to the origin
/// server.
struct Establishment<Stream: ConnectingStream & ~Copyable>: ~Copyable {
    enum Step {
        case secure(TLSContext, TLSServerName, TLSSessionKey, for: ConnectionVersion)
        case tunnel(any TunnelDialogue)
    }

    enum Need {
        /// The socket is ready in these directions; a time-out names the phase.
        case event(Interest, RequestError.Phase)
        /// Another connected socket, for ``restart(on:)``.
        case connection
    }

    private var stream: Stream
    private let allSteps: [Step]
    private var steps: ArraySlice<Step>
    /// The dialogue in progress, on this connection or the previous one.
    private var dialogue: (any TunnelDialogue)?
    /// Whether the dialogue has begun on this connection.
    private var isConversing = false
    private var unsent: ArraySlice<UInt8> = []

    var channel: Stream.Network.Channel { stream.channel }

    var isBeforeTunnel: Bool {
        steps.contains { if case .tunnel = $0 { true } else { false } }
    }

    init(_ channel: Stream.Network.Channel, _ steps: [Step]) {
        stream = Stream(channel)
        allSteps = steps
        self.steps = steps[...]
    }

    /// Begins again on another connection, except that the dialogue with the proxy continues.
    mutating func restart(on channel: Stream.Network.Channel) {
        stream = Stream(channel)
        steps = allSteps[...]
        unsent = []
        isConversing = false
    }

    /// Continues as far as possible, and returns what it needs next; nil when the connection can carry requests.
    ///
    /// - Throws: An error before anything of a request is sent.
    mutating func advance() throws(RequestError) -> Need? {
        while let step = steps.first {
            switch step {
            case .secure(let context, let name, let key, let version):
                if let directions = try secure(context, name, key, for: version) {
                    return .event(directions, .securing)
                }
            case .tunnel(let dialogue):
                if let need = try converse(dialogue) { return need }
            }
            steps = steps.dropFirst()
        }
        return nil
    }

    consuming func connection(
        in slot: Stream.Network.Connection.Slot, _ stamps: RawResponse.Metrics.Stamps, over network: Stream.Network
    ) -> Stream.Network.Connection {
        stream.connection(in: slot, stamps, over: network)
    }
}

// MARK: The steps

extension Establishment where Stream: ~Copyable {
    private mutating func secure(
        _ context: TLSContext, _ name: TLSServerName, _ key: TLSSessionKey, for version: ConnectionVersion
    ) throws(RequestError) -> Interest? {
        do throws(TLSError) {
            return try stream.secure(context, name, key, for: version)
        } catch {
            throw RequestError(error, ifLost: .connectionFailed)
        }
    }

    /// Exchanges the messages of a dialogue; returns what it needs next, or nil at its end.
    private mutating func converse(_ first: any TunnelDialogue) throws(RequestError) -> Need? {
        var dialogue = dialogue ?? first
        defer { self.dialogue = dialogue }
        do throws(RequestError) {
            var step = isConversing ? TunnelStep.send([]) : try dialogue.next([])
            isConversing = true
            while true {
                switch step {
                case .establish: return nil
                case .reconnect: return .connection
                case .send(let bytes): unsent += bytes
                }
                var received: [UInt8] = []
                if let directions = try exchange(&received) { return .event(directions, .connecting) }
                step = try dialogue.next(received)
            }
        } catch {
            guard error.reason == .connectionFailed, try dialogue.loseConnection() else { throw error }
            return .connection
        }
    }

    /// Sends the unsent bytes and then receives.
    ///
    /// Returns the directions to wait for, or nil when bytes have arrived.
    private mutating func exchange(_ received: inout [UInt8]) throws(RequestError) -> Interest? {
        do throws(StreamError) {
            while !unsent.isEmpty {
                guard case .bytes(let count) = try stream.send(unsent) else { return stream.directions(for: .writing) }
                unsent = unsent.dropFirst(count)
            }
            switch try stream.receive(&received) {
            case .wouldBlock: return stream.directions(for: .reading)
            case .bytes: return nil
            case .end: break
            }
        } catch {
            switch error {
            case .system(let error): throw .notConnected(error)
            case .tls(let error): throw RequestError(error, ifLost: .connectionFailed)
            }
        }
        throw RequestError(.connectionFailed, detail: "the proxy closed the connection")
    }
}
