import Requests
import RequestsHTTP1
import RequestsPOSIX
import Testing

@testable import RequestsSocket
@testable import RequestsTLS

/// A network without sockets, lookups and files, whose time changes only when a test sets it.
///
/// Each operation takes the next entry of its script; the last entry of an attempt is repeated.
final class ScriptedNetwork: ConnectionNetwork, @unchecked Sendable {  // one test uses it, on one thread at a time
    typealias Connection = ScriptedConnection
    typealias Channel = ScriptedChannel

    /// The result of checking a lookup, or settings that are being loaded, once.
    enum Work<Value, Failure: Error> {
        case pending
        case done(Value)
        case failure(Failure)
    }

    /// The result of checking an attempt to connect once.
    enum Attempt {
        case pending
        case connected
        case failure(Int32)
    }

    var settings: [SecuredPeer: [Work<TLSContext, RequestError>]] = [:]
    var lookups: [Work<[SocketAddress], ResolverError>] = []
    /// The attempts by address.
    var attempts: [SocketAddress: [Attempt]] = [:]
    /// The error codes of the next sockets to be created; nil if the socket is created.
    var sockets: [Int32?] = []
    /// The steps of the streams, in the order of their connections.
    var streams: [[ScriptedStream.Step]] = []

    /// The operations, in their order.
    var log: [String] = []
    /// The bytes sent on each stream.
    var sent: [String] = []
    /// The keys of the sessions that the handshakes can resume, without repetitions.
    var sessionKeys: [TLSSessionKey] = []
    var timeLimits: SocketTimeLimits
    var elapsed = Duration.zero
    var attemptDelay = Duration.milliseconds(250)
    var localAddress: SocketAddress?
    var httpVersion = ConnectionVersion.http1

    init(_ timeLimits: SocketTimeLimits) {
        self.timeLimits = timeLimits
    }

    var now: Deadline { timeLimits.began.advanced(by: elapsed) }

    func settings(
        for peer: SecuredPeer, _ loading: ScriptedWork?
    ) throws(RequestError) -> WorkProgress<TLSContext, ScriptedWork> {
        if loading == nil { log.append("load \(peer)") }
        return try progress(&settings[peer, default: []], ScriptedWork(event: "settings of \(peer)"))
    }

    func addresses(
        of host: String, port: UInt16, _ lookup: ScriptedWork?
    ) throws(ResolverError) -> WorkProgress<[SocketAddress], ScriptedWork> {
        if lookup == nil { log.append("look up \(host):\(port)") }
        return try progress(&lookups, ScriptedWork(event: "lookup"))
    }

    private func progress<Value, Failure: Error>(
        _ script: inout [Work<Value, Failure>], _ work: ScriptedWork
    ) throws(Failure) -> WorkProgress<Value, ScriptedWork> {
        switch script.isEmpty ? .pending : script.removeFirst() {
        case .pending: return .pending(work)
        case .done(let value): return .done(value)
        case .failure(let error): throw error
        }
    }

    func forgetAddresses(of host: String) {
        log.append("forget \(host)")
    }

    func makeEvent() -> String { "race" }

    func channel(for address: SocketAddress) throws(SystemError) -> ScriptedChannel {
        if let code = sockets.isEmpty ? nil : sockets.removeFirst() { throw SystemError("socket", code: code) }
        return ScriptedChannel(to: address, over: self)
    }

    func setOptions(of channel: ScriptedChannel) {
        log.append("options \(channel.address)")
    }
}

/// The part of the call in scripted work.
struct ScriptedWork: PendingWork {
    let event: String
}

/// A scripted socket, whose release closes it.
final class ScriptedChannel: ConnectingChannel {
    let address: SocketAddress
    let network: ScriptedNetwork

    init(to address: SocketAddress, over network: ScriptedNetwork) {
        self.address = address
        self.network = network
    }

    deinit {
        network.log.append("close \(address)")
    }

    func beginConnecting(to address: SocketAddress, reportingTo event: String) throws(SystemError) -> Bool {
        network.log.append("connect \(address)")
        return try finishConnecting()
    }

    func finishConnecting() throws(SystemError) -> Bool {
        let script = network.attempts[address] ?? [.connected]
        network.attempts[address] = script.count > 1 ? Array(script.dropFirst()) : script
        switch script[0] {
        case .pending: return false
        case .connected: return true
        case .failure(let code): throw SystemError("connect", code: code)
        }
    }
}

/// The bytes of a scripted connection; each call of a function takes the next step.
struct ScriptedStream: ConnectingStream, ~Copyable {
    typealias Network = ScriptedNetwork

    /// The result of calling a function once.
    enum Step {
        /// The handshake needs these directions.
        case needs(Interest)
        /// The handshake ends, with an application protocol if the server selects one.
        case secured(String?)
        case refused(TLSError)
        /// At most this number of bytes is accepted.
        case accepts(Int)
        case receives([UInt8])
        /// Sending or receiving waits for these directions.
        case blocked(Interest)
        case end
        case failure(StreamError)

        static func receives(_ text: String) -> Step { .receives(Array(text.utf8)) }
        static let sent = Step.accepts(.max)
    }

    let channel: ScriptedChannel
    private var steps: [Step]
    private let number: Int
    private var directions = Interest.none

    init(_ channel: ScriptedChannel) {
        self.channel = channel
        let network = channel.network
        number = network.sent.count
        network.sent.append("")
        steps = network.streams.isEmpty ? [] : network.streams.removeFirst()
    }

    mutating func secure(
        _ context: TLSContext, _ name: TLSServerName, _ key: TLSSessionKey, for version: ConnectionVersion
    ) throws(TLSError) -> Interest? {
        channel.network.log.append("handshake with \(name.text)")
        if channel.network.sessionKeys.last != key { channel.network.sessionKeys.append(key) }
        switch steps.isEmpty ? .needs(.reading) : steps.removeFirst() {
        case .needs(let directions): return directions
        case .secured(let selected):
            let names = version.applicationProtocols
            guard let selected, !names.contains(selected) else { return nil }
            throw TLSError(.negotiationFailed, "the server selected \(selected), not \(names.joined(separator: ","))")
        case .refused(let error): throw error
        case let step:
            Issue.record("expected \(step), found a handshake")
            return nil
        }
    }

    mutating func send(_ bytes: ArraySlice<UInt8>) throws(StreamError) -> TransferResult {
        switch steps.isEmpty ? .blocked(.writing) : steps.removeFirst() {
        case .accepts(let limit):
            channel.network.sent[number] += String(decoding: bytes.prefix(limit), as: UTF8.self)
            return .bytes(min(limit, bytes.count))
        case .blocked(let directions): self.directions = directions
        case .failure(let error): throw error
        case let step: Issue.record("expected \(step), found a call of send")
        }
        return .wouldBlock
    }

    mutating func receive(_ received: inout [UInt8]) throws(StreamError) -> TransferResult {
        switch steps.isEmpty ? .blocked(.reading) : steps.removeFirst() {
        case .receives(let bytes):
            received = bytes
            return .bytes(bytes.count)
        case .blocked(let directions): self.directions = directions
        case .end: return .end
        case .failure(let error): throw error
        case let step: Issue.record("expected \(step), found a call of receive")
        }
        return .wouldBlock
    }

    func directions(for wanted: Interest) -> Interest { directions }

    consuming func connection(
        in slot: ScriptedSlot, _ stamps: RawResponse.Metrics.Stamps, over network: ScriptedNetwork
    ) -> ScriptedConnection {
        ScriptedConnection(channel, in: slot, stamps)
    }
}

/// A scripted connection that is established.
final class ScriptedConnection: PlacedConnection, @unchecked Sendable {  // as the network
    let channel: ScriptedChannel
    let slot: ScriptedSlot
    let stamps: RawResponse.Metrics.Stamps
    private(set) var isReused = false
    var isShared = false

    init(_ channel: ScriptedChannel, in slot: ScriptedSlot, _ stamps: RawResponse.Metrics.Stamps = .init()) {
        self.channel = channel
        self.slot = slot
        self.stamps = stamps
    }

    func beginReuse() {
        isReused = true
    }
}

/// The right to one scripted connection; its release is recorded.
final class ScriptedSlot: ConnectionSlot {
    private let network: ScriptedNetwork

    init(_ network: ScriptedNetwork) {
        self.network = network
    }

    deinit {
        network.log.append("vacate")
    }

    func recordCancellation() {
        network.log.append("record cancellation")
    }
}

// MARK: Steps as text

extension ConnectionStep<ScriptedNetwork> {
    /// Returns the need with its instant after the beginning of the call, or the address of the connection.
    func text(since began: Deadline) -> String {
        func time(_ limit: Deadline) -> String {
            limit == .distantFuture ? "" : " until \(limit.nanoseconds(since: began) / 1_000_000) ms"
        }
        return switch self {
        case .needs(.signal(let event, let limit, let phase)): "\(event), \(phase.name)\(time(limit))"
        case .needs(.socket(let channel, let wanted, let limit, let phase)):
            "\(wanted.text) \(channel.address), \(phase.name)\(time(limit))"
        case .needs(.turn(let limit, let phase)): "turn \(phase.name)\(time(limit))"
        case .connected(let connection): "connected to \(connection.channel.address)"
        }
    }
}

extension RequestError.Phase {
    fileprivate var name: String {
        switch self {
        case .resolving: "resolving"
        case .waitingForConnection: "waiting"
        case .connecting: "connecting"
        case .securing: "securing"
        default: "\(self)"
        }
    }
}

extension Interest {
    fileprivate var text: String {
        switch self {
        case .reading: "read"
        case .writing: "write"
        default: "read or write"
        }
    }
}

/// A new connection that is advanced step by step.
final class ConnectionSteps {
    let network: ScriptedNetwork
    private var new: NewConnection<ScriptedStream>?
    private var need: ConnectionNeed<ScriptedNetwork>?
    private(set) var connection: ScriptedConnection?

    init(
        to url: String = "http://host.example/", through proxy: SocketExecutor.Proxy? = nil,
        by destination: SocketExecutor.Destination = .url, total: Duration? = nil,
        _ prepare: (ScriptedNetwork) throws -> Void = { _ in }
    ) throws {
        var request = PreparedRequest(target: try TargetURI(url))
        request.timeouts.connect = .seconds(10)
        if let total { request.limit = .after(total) }
        network = ScriptedNetwork(SocketTimeLimits(request))
        try prepare(network)
        let route = try proxy.map { try #require(ProxyRoute($0, WireLimits())) }
        let origin = try Origin(of: request, to: request.target, by: destination, through: route)
        new = NewConnection(to: origin, in: ScriptedSlot(network), over: network)
    }

    /// Advances once, `time` after the beginning of the call, and returns the step as text.
    func advance(at time: Duration = .zero) throws(RequestError) -> String {
        network.elapsed = time
        guard let step = try new?.advance() else { return "ended" }
        switch step {
        case .needs(let next): need = next
        case .connected(let established): connection = established
        }
        return step.text(since: network.timeLimits.began)
    }

    /// Advances once, `time` after the beginning of the call, and expects the step to be `text`.
    func expect(
        _ text: String, at time: Duration = .zero, sourceLocation: SourceLocation = #_sourceLocation
    ) throws(RequestError) {
        let step = try advance(at: time)
        #expect(step == text, sourceLocation: sourceLocation)
    }

    /// Ends the last need with `error`.
    func fail(_ error: WaitError, at time: Duration = .zero) throws(RequestError) {
        network.elapsed = time
        guard let need else {
            Issue.record("expected a need before a failed wait")
            return
        }
        try new?.fail(error, need)
    }

    /// Advances until an error, and returns it.
    func failure() -> RequestError? {
        do throws(RequestError) {
            for _ in 0..<100 where connection == nil { _ = try advance() }
            Issue.record("expected an error within 100 steps")
            return nil
        } catch {
            return error
        }
    }

    /// Releases the new connection, as the call does at its end.
    func end() {
        new = nil
        need = nil
        connection = nil
    }

    /// The times in milliseconds at which the lookup, connecting and TLS ended; nil for a stage that was not needed.
    var stamps: [Int64?] {
        guard let stamps = connection?.stamps else { return [] }
        return [stamps.lookup, stamps.connected, stamps.secured].map { stamp in
            stamp.time.map { Deadline.nanoseconds(of: $0) / 1_000_000 }
        }
    }
}
