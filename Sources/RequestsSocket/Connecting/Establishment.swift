import Requests
import RequestsPOSIX
import RequestsTLS

/// The steps on a connected socket until it can carry requests, as a state machine that never waits: TLS to a proxy,
/// the request for a tunnel, and TLS to the origin server.
struct Establishment: ~Copyable {
    /// One of the steps, in their order.
    enum Step {
        /// The TLS handshake with a peer.
        case secure(TLSContext, TLSServerName, TLSSessionKey)
        /// The messages that request a proxy to connect to the origin server.
        case tunnel(any TunnelDialogue)
    }

    /// The wait or the socket that it needs to continue.
    enum Need {
        /// An event of these directions, in a phase.
        case event(Interest, RequestError.Phase)
        /// Another connected socket, for ``restart(on:)``.
        case connection
    }

    private var stream: ByteStream
    private let allSteps: [Step]
    private var steps: ArraySlice<Step>
    /// The TLS connection whose handshake is in progress.
    private var handshake: TLSStream?
    /// The dialogue that is in progress, on this connection or the one before.
    private var dialogue: (any TunnelDialogue)?
    /// Whether the dialogue has begun on this connection.
    private var isConversing = false
    /// Bytes of the dialogue that have not been sent.
    private var unsent: ArraySlice<UInt8> = []

    var channel: Channel { stream.channel }

    init(_ channel: Channel, _ steps: [Step]) {
        stream = ByteStream(channel)
        allSteps = steps
        self.steps = steps[...]
    }

    /// Begins again on another connection, except that the dialogue with the proxy continues.
    mutating func restart(on channel: Channel) {
        stream = ByteStream(channel)
        steps = allSteps[...]
        handshake = nil
        unsent = []
        isConversing = false
    }

    /// Continues as far as possible, and returns what it needs next; nil when the connection can carry requests.
    ///
    /// - Throws: An error before anything of a request is sent.
    mutating func advance() throws(RequestError) -> Need? {
        do throws(RequestError) {
            while let step = steps.first {
                switch step {
                case .secure(let context, let name, let key):
                    if let directions = try secure(context, name, key) {
                        return .event(directions, .securing)
                    }
                case .tunnel(let dialogue):
                    if let need = try converse(dialogue) { return need }
                }
                steps = steps.dropFirst()
            }
            return nil
        } catch {
            throw error.beforeSending()
        }
    }

    /// Returns the established connection in `slot`.
    consuming func connection(in slot: Slot, _ stamps: RawResponse.Metrics.Stamps) -> Connection {
        let negotiation = stream.negotiation
        return Connection(stream, in: slot, stamps, negotiation)
    }
}

// MARK: TLS

extension Establishment {
    private mutating func secure(
        _ context: TLSContext, _ name: TLSServerName, _ key: TLSSessionKey
    ) throws(RequestError) -> Interest? {
        do throws(TLSError) {
            if handshake == nil { handshake = try stream.securing(context, name, key) }
            guard let handshake else { return nil }
            if let directions = try handshake.handshake() { return directions }
            try handshake.requireProtocol("http/1.1")
            stream = ByteStream(stream.channel, handshake)
            self.handshake = nil
            return nil
        } catch {
            throw RequestError(error, ifLost: .connectionFailed)
        }
    }
}

// MARK: The tunnel

extension Establishment {
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

    /// Sends the bytes that have not been sent, and then receives; returns the directions to wait for before it can.
    private mutating func exchange(_ received: inout [UInt8]) throws(RequestError) -> Interest? {
        while !unsent.isEmpty {
            guard case .bytes(let count) = try send() else { return stream.directions(for: .writing) }
            unsent = unsent.dropFirst(count)
        }
        switch try receive(&received) {
        case .wouldBlock: return stream.directions(for: .reading)
        case .end: throw RequestError(.connectionFailed, detail: "the proxy closed the connection")
        case .bytes: return nil
        }
    }

    private mutating func send() throws(RequestError) -> TransferResult {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        let bytes = Array(unsent)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(StreamError) in try stream.write(bytes, nothing) }
        }
        return try Self.check(result)
    }

    private mutating func receive(_ received: inout [UInt8]) throws(RequestError) -> TransferResult {
        var result: Result<TransferResult, StreamError> = .success(.end)
        received = [UInt8](unsafeUninitializedCapacity: 4 << 10) { buffer, initialized in
            let space = UnsafeMutableRawBufferPointer(buffer)
            result = Result { () throws(StreamError) in try stream.read(into: space) }
            if case .success(.bytes(let count)) = result { initialized = count }
        }
        return try Self.check(result)
    }

    private static func check(_ result: Result<TransferResult, StreamError>) throws(RequestError) -> TransferResult {
        do throws(StreamError) {
            return try result.get()
        } catch {
            switch error {
            case .system(let error): throw .notConnected(error)
            case .tls(let error): throw RequestError(error, ifLost: .connectionFailed)
            }
        }
    }
}
