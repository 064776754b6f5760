import Requests

extension ConnectionState {
    /// Queues the beginning of a connection: the preface, SETTINGS with the values that differ from a default, and the
    /// larger window of the connection (RFC 9113 §3.4, §6.5.2).
    mutating func begin(at now: Deadline) {
        let isClient = role == .client
        let first =
            isClient
            ? (SettingID.enablePush, 0)
            : (SettingID.maximumConcurrentStreams, limits.announcedStreams ?? limits.concurrentStreams)
        let settings = [
            first, (SettingID.initialWindowSize, limits.announcedWindow ?? limits.streamWindow),
            (SettingID.maximumHeaderListSize, limits.headBytes),
        ]
        receiveWindow.grow(to: limits.connectionWindow)
        let increment = receiveWindow.update(at: now)
        queue.append { writer in
            if isClient { writer.preface() }
            writer.settings(settings)
            if increment > 0 { writer.windowUpdate(0, increment: increment) }
        }
    }

    /// Applies the peer's SETTINGS and acknowledges them (RFC 9113 §6.5.3).
    mutating func receiveSettings(
        _ settings: ReceivedSettings, into events: inout [ConnectionEvent]
    ) throws(HTTP2Error) {
        for size in settings.headerTableSizes { encoder.setMaximumTableSize(size) }
        if let size = settings.initialWindowSize { try changeSendWindows(to: size) }
        peerSettings.merge(settings)
        queue.append(acknowledgements: 1) { $0.settingsAcknowledgement() }
        try checkAcknowledgements(in: .settings)
        if !isSettled { events.append(.settled) }
        isSettled = true
    }

    /// Changes the send windows of all streams, which may become negative (RFC 9113 §6.9.2).
    private mutating func changeSendWindows(to size: Int) throws(HTTP2Error) {
        let change = size - initialSendWindow
        for index in streams.indices {
            guard streams[index].sendWindow + change <= WindowSize.largest else {
                throw HTTP2Error(.windowOverflow, in: .settings)
            }
            streams[index].sendWindow += change
            if streams[index].isGranted, streams[index].sendWindow <= 0 {
                // It cannot use its turn, and is notified again when its window opens.
                endGrant(of: index)
                streams[index].wantsCapacity = true
            }
            queueTurn(of: index)
        }
    }

    var initialSendWindow: Int { peerSettings.initialWindowSize ?? WindowSize.initial }

    /// The number of streams that can be opened now; 0 on a server.
    package var freePlaces: Int {
        mutating get {
            guard role == .client, !isDraining, !isInDoubt else { return 0 }
            return max(0, maximumStreams - streams.count - heldPlaces.count)
        }
    }

    /// The maximum number of streams that the peer allows at once; ``presumedStreams`` until its SETTINGS arrive.
    package var maximumStreams: Int {
        mutating get { isSettled ? peerSettings.maximumConcurrentStreams ?? .max : Self.presumedStreams }
    }

    /// The number of streams that a peer is presumed to allow until its SETTINGS arrive: 100.
    package static var presumedStreams: Int { HTTP2Limits.presumedStreams }

    /// Whether the connection accepts no more streams.
    package var isDraining: Bool {
        mutating get { failure != nil || goAway != nil || hasDrained || nextStream > .largest }
    }

    /// Whether the peer has ended the connection with GOAWAY after it may have acted on a request.
    package var hasServed: Bool { goAway.map { $0.lastStream > 0 && $0.lastStream < nextStream } ?? false }

    package var streamCount: Int { streams.count }

    /// Accepts no more streams, and announces that with GOAWAY; open streams continue (RFC 9113 §6.8).
    package mutating func drain() {
        guard failure == nil, !hasAnnouncedEnd else { return }
        (hasDrained, hasAnnouncedEnd) = (true, true)
        announcedLast = lastPeerStream
        let last = lastPeerStream
        queue.append { $0.goAway(lastStream: last, .noError) }
    }

    /// Opens no more streams, and ends the ones that the peer has not processed.
    mutating func receiveGoAway(
        _ received: Frame.GoAway, into events: inout [ConnectionEvent]
    ) throws(HTTP2Error) {
        try countEmptyFrame(.goAway)
        goAway = received
        if role == .client {
            // Sorted, so that the events have the order of the requests.
            let ended = streams.indices.filter { streams[$0].id > received.lastStream }
            for index in ended.sorted(by: { streams[$0].id < streams[$1].id }) {
                let (slot, isUnprocessed) = (streams.slot(at: index), !streams[index].hasResponse)
                close(index, as: nil)
                events.append(.reset(slot, StreamReset(code: .refusedStream, isUnprocessed: isUnprocessed, error: nil)))
            }
        }
        events.append(.goAway(received))
    }
}
