import Requests

extension ConnectionState {
    /// Decodes the header block that the reader has completed, and handles it as a head or as trailers.
    mutating func receiveBlock(
        of id: StreamID, endsStream: Bool, at now: Deadline, into events: inout [ConnectionEvent]
    ) throws(HTTP2Error) {
        let block = reader.block
        // Decoded even if the stream is closed, because all blocks change the table (RFC 9113 §4.3).
        var fields: ReceivedFields?
        var isTooLarge = false
        do throws(HPACKError) {
            try decoder.decode(block.span, endsBlock: true, limit: limits.headBytes, into: &fields)
        } catch {
            switch error {
            case .malformed: throw HTTP2Error(.compression, in: .headers, on: id, cause: .compression(error))
            case .blockTooLarge: throw HTTP2Error(.headerBlockTooLarge, in: .headers, on: id)
            case .listTooLarge: isTooLarge = true
            }
        }
        if role == .server, !id.isMultiple(of: 2), id > lastPeerStream { try openPeerStream(id, at: now) }
        // Opening a stream closes the lower numbers that were not used (RFC 9113 §5.1.1).
        if closed.wasSkipped(id) { throw HTTP2Error(.streamNumber, in: .headers, on: id) }
        guard let index = try activeStream(id, in: .headers) else {
            return try countLateFrame(.headers, on: id)
        }
        emptyFrames.restore(block.count)
        do throws(HTTP2Violation) {
            guard !isTooLarge else { throw .headerListTooLarge }
            switch streams[index].receiving {
            case .head: try receiveHead(fields.take(), index, endsStream: endsStream, into: &events)
            case .body:
                guard endsStream else { throw .unendedTrailers }
                let trailers = try ReceivedSection(fields.take(), allowing: []).header
                if let violation = streams[index].length.violationAtEnd { throw violation }
                events.append(.trailers(streams.slot(at: index), trailers))
                endReceiving(index, into: &events)
            case .ended: throw .endedStream
            }
        } catch {
            try failStream(index, error, in: .headers, at: now, into: &events)
        }
    }

    /// Adds a stream of the client to the table, or refuses it above the limit.
    ///
    /// - Throws: A connection error if too many streams were refused or reset.
    private mutating func openPeerStream(_ id: StreamID, at now: Deadline) throws(HTTP2Error) {
        closed.recordSkipped(after: lastPeerStream, before: id)
        lastPeerStream = id
        // A client's GOAWAY limits only the streams that the server opens, and it opens none (RFC 9113 §6.8).
        guard !hasDrained, streams.count < limits.concurrentStreams else {
            try countPeerReset(in: .headers, on: id, at: now)
            lateFrames += HTTP2Limits.lateFrames
            queue.append { $0.resetStream(id, .refusedStream) }
            return
        }
        _ = insertStream(id)
    }

    /// Adds a stream to the table, and returns its index.
    mutating func insertStream(_ id: StreamID) -> Int {
        streamWindows += limits.streamWindow
        return streams.insert(
            StreamRecord(
                id: id, sendWindow: initialSendWindow, receiveWindow: ReceiveWindow(size: limits.streamWindow)))
    }

    private mutating func receiveHead(
        _ fields: consuming ReceivedFields?, _ index: Int, endsStream: Bool, into events: inout [ConnectionEvent]
    ) throws(HTTP2Violation) {
        let names = role == .client ? MessageHead.responseNames : MessageHead.requestNames
        let section = try ReceivedSection(fields, allowing: names)
        let head = role == .client ? try MessageHead(response: section) : try MessageHead(request: section)
        if case .response(let status, let header) = head, status.isInformational {
            return try receiveInterim(status, header, index, endsStream: endsStream, into: &events)
        }
        if case .response(let status, _) = head, status.forbidsBody { streams[index].length.isForbidden = true }
        streams[index].length.expected = section.contentLength
        if endsStream, let violation = streams[index].length.violationAtEnd { throw violation }
        streams[index].receiving = .body
        events.append(.head(streams.slot(at: index), head))
        if endsStream { endReceiving(index, into: &events) }
    }

    /// Counts an interim response together with earlier ones, as HTTP/1.1 does.
    private mutating func receiveInterim(
        _ status: HTTPStatus, _ header: Header, _ index: Int, endsStream: Bool, into events: inout [ConnectionEvent]
    ) throws(HTTP2Violation) {
        guard !endsStream else { throw .endedInterim }
        streams[index].interims += 1
        streams[index].interimBytes += header.byteCount
        guard streams[index].interims <= limits.interimResponses else { throw .manyInterims }
        guard streams[index].interimBytes <= limits.headBytes else { throw .headerListTooLarge }
        events.append(.interim(streams.slot(at: index), status, header))
    }

    // MARK: Bodies

    /// Counts the bytes of a DATA frame against both windows, and reports its content (RFC 9113 §6.1, §6.9).
    mutating func receiveData(
        _ part: Frame.DataPart, at now: Deadline, into events: inout [ConnectionEvent]
    ) throws(HTTP2Error) {
        // Returned on receipt, so that a stream whose consumer stops does not delay the others. At least half of the
        // window is always available, which is more than a frame, so that a peer cannot exceed it.
        receiveWindow.take(part.countedBytes)
        receiveWindow.release(part.countedBytes)
        if receiveWindow.isUpdateDue { returnConnectionWindow(at: now) }
        guard let index = try activeStream(part.stream, in: .data, beginsFrame: part.beginsFrame) else {
            // Content is not counted: a whole window of it may be under way to a stream that was reset.
            if part.isEmptyFrame { try countEmptyFrame(.data, on: part.stream) }
            return
        }
        if part.isEmptyFrame && !part.endsStream { try countEmptyFrame(.data, on: part.stream) }
        emptyFrames.restore(part.range.count)
        do throws(HTTP2Violation) {
            try receiveContent(part, index, at: now, into: &events)
        } catch {
            try failStream(index, error, in: .data, at: now, into: &events)
        }
    }

    private mutating func receiveContent(
        _ part: Frame.DataPart, _ index: Int, at now: Deadline, into events: inout [ConnectionEvent]
    ) throws(HTTP2Violation) {
        switch streams[index].receiving {
        case .head: throw .dataBeforeHead
        case .ended: throw .endedStream
        case .body: break
        }
        // The whole frame is compared, so that the error does not depend on how its bytes arrive.
        guard part.remainingBytes <= streams[index].receiveWindow.available else { throw .windowExceeded }
        streams[index].receiveWindow.take(part.countedBytes)
        if let violation = streams[index].length.add(part.range.count) { throw violation }
        if part.endsStream, let violation = streams[index].length.violationAtEnd { throw violation }
        let slot = streams.slot(at: index)
        if !part.range.isEmpty { events.append(.data(slot, part.range)) }
        if part.endsStream { return endReceiving(index, into: &events) }
        consumed(slot, part.countedBytes - part.range.count, at: now)
    }
}
