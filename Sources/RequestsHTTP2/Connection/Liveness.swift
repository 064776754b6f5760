package import Requests

/// The signs of life of the peer, and the length of a round trip.
struct Liveness: Sendable {
    /// The time after a PING within which a frame must arrive; otherwise the connection is lost.
    private static let pingLimit = Duration.seconds(10)
    /// The time without any frame, in nanoseconds, after which the next request is sent with a PING: 15 s.
    private static let silence: Int64 = 15_000_000_000
    /// The maximum number of PINGs without HEADERS or DATA from the peer between them.
    ///
    /// A gRPC server closes the connection at the third or fourth.
    private static let pings = 2

    private let settingsSent: Deadline
    /// The time from SETTINGS to its acknowledgement; nil before that.
    ///
    /// The time to connect can be much shorter, because a proxy on this machine accepts connections at once.
    private(set) var roundTrip: Duration?
    /// The instant of the last frame, or of the beginning.
    private(set) var lastFrame: Deadline
    private var isPingOutstanding = false
    /// The instant at which the connection is lost: no frame has arrived since a PING was queued.
    private(set) var deadline = Deadline.distantFuture
    /// The number of PINGs that the peer may have received since its last HEADERS or DATA.
    private var pingsSinceMessage = 0
    private var pingNumber: UInt8 = 0
    /// Whether a stream has timed out, and no frame has arrived since.
    private(set) var isInDoubt = false

    init(at now: Deadline) {
        settingsSent = now
        lastFrame = now
    }

    mutating func receive(_ frame: Frame, at now: Deadline) {
        lastFrame = now
        isInDoubt = false
        deadline = .distantFuture
        switch frame {
        // A PING under way reaches the peer after the message.
        case .data, .headers: pingsSinceMessage = isPingOutstanding ? 1 : 0
        default: break
        }
    }

    /// Measures the round trip; returns false for a second acknowledgement, which the peer must not send.
    mutating func receiveSettingsAcknowledgement(at now: Deadline) -> Bool {
        guard roundTrip == nil else { return false }
        roundTrip = Duration.nanoseconds(max(0, now.nanoseconds(since: settingsSent)))
        return true
    }

    /// Returns whether the acknowledgement belongs to our PING.
    mutating func receiveAcknowledgement(of opaque: [UInt8]) -> Bool {
        guard isPingOutstanding, opaque == payload else { return false }
        isPingOutstanding = false
        return true
    }

    private var payload: [UInt8] { [0, 0, 0, 0, 0, 0, 0, pingNumber] }

    /// Returns the payload of a PING to send at `now`, or nil if the peer could take it for a flood.
    mutating func ping(at now: Deadline) -> [UInt8]? {
        guard !isPingOutstanding, pingsSinceMessage < Self.pings else { return nil }
        isPingOutstanding = true
        deadline = now.advanced(by: Self.pingLimit)
        pingsSinceMessage += 1
        pingNumber &+= 1
        return payload
    }

    /// Returns the payload of a PING that accompanies a request after a long silence; otherwise nil.
    mutating func pingAfterSilence(at now: Deadline) -> [UInt8]? {
        now.nanoseconds(since: lastFrame) >= Self.silence ? ping(at: now) : nil
    }

    /// Records that a stream has timed out without any frame; returns whether a PING is already under way.
    mutating func doubt() -> Bool {
        isInDoubt = true
        return deadline < .distantFuture
    }

    /// The time for which the peer may still send to a stream that was reset.
    var resetDelay: Duration { min(max(roundTrip ?? .seconds(1), .milliseconds(5)), .seconds(1)) }
}

/// The place of a stream that we have reset.
struct HeldPlace: Sendable {
    /// The number of the first stream that was opened after the reset: a frame on it, or on a later one, shows that the
    /// peer has received the reset.
    let next: StreamID
    let until: Deadline
}

extension ConnectionState {
    /// The instant at which ``expire(at:into:)`` must be called, if nothing happens before.
    package var deadline: Deadline {
        mutating get {
            guard failure == nil else { return .distantFuture }
            let grantsExpire = turns.isEmpty ? Deadline.distantFuture : grantsExpire
            return heldPlaces.reduce(min(liveness.deadline, grantsExpire)) { min($0, $1.until) }
        }
    }

    /// Releases the places and turns whose time has passed, and checks whether a PING was acknowledged in time.
    ///
    /// - Throws: The error of a connection that is lost.
    package mutating func expire(at now: Deadline, into events: inout [ConnectionEvent]) throws(HTTP2Error) {
        if let failure { throw failure }
        heldPlaces.removeAll { $0.until <= now }
        guard liveness.deadline > now else {
            let error = HTTP2Error(.unacknowledgedPing, in: .ping)
            fail(error)
            throw error
        }
        reportCapacity(at: now, into: &events)
    }

    /// Whether a stream has timed out without any frame of the peer.
    ///
    /// The connection accepts no streams until a frame arrives.
    package var isInDoubt: Bool { mutating get { liveness.isInDoubt } }

    /// Resets a stream whose time limit has passed.
    ///
    /// If no frame at all has arrived since `start`, the connection is in doubt: a PING is sent, and unless a frame
    /// arrives within 10 seconds, the connection is lost. If the peer could take another PING for a flood, none is
    /// sent, and the connection accepts no more streams.
    ///
    /// - Parameters:
    ///   - slot: The stream.
    ///   - start: The beginning of the wait.
    ///   - now: The current instant.
    package mutating func timeOut(_ slot: StreamSlot, waitingSince start: Deadline, at now: Deadline) {
        guard failure == nil, streams.index(of: slot) != nil else { return }
        reset(slot, .cancel, at: now)
        defer { noteFewerPlaces() }
        guard liveness.lastFrame < start, !liveness.doubt() else { return }
        if let payload = liveness.ping(at: now) {
            queue.append { $0.ping(payload, isAcknowledgement: false) }
        } else {
            hasDrained = true
        }
    }
}
