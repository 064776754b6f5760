import Requests
import RequestsHTTP2
import RequestsPOSIX

// Sending the output.
extension HTTP2SessionState {
    /// The number of bytes that remain to be sent.
    var outputCount: Int { mutating get { frames.outputCount - sent } }

    /// Queues as many body bytes of a stream as it accepts now, and returns their number.
    mutating func queue(_ bytes: UnsafeRawBufferPointer, of stream: StreamSlot, endsStream: Bool) -> Int {
        var queued = 0
        while queued < bytes.count {
            let part = frames.write(stream, bytes.count - queued, endsStream: endsStream)
            if part == 0 { break }
            queued += part
        }
        bodies.append(contentsOf: bytes.prefix(queued))
        return queued
    }

    /// Whether the output is still sent; after a violation of the peer, too, because it ends with GOAWAY.
    var isSending: Bool { sendFailure == nil && receiveFailure == nil && !hasEnded }

    /// Returns whether the peer may have received a byte of the head of the request, or will receive it.
    ///
    /// A queued head follows the others even if its stream is reset, because the peer's table of fields depends on it.
    func hasSentHead(of stream: StreamSlot, over bytes: borrowing ByteStream) -> Bool {
        isSending || frames.hasSentHead(of: stream, beside: bytes.hasPartialWrite ? output.count : sent)
    }

    /// Requests a task that sends the output together with the output of other tasks that are ready to run.
    mutating func requestFlush() {
        guard flushRequest == nil, outputCount > 0 else { return }
        flushRequest = .now
        tasks.insert(.sending)
    }

    /// Whether the task that sends the output is more than 1 ms late, as on a busy executor.
    var isFlushLate: Bool { flushRequest.map { Deadline.now.nanoseconds(since: $0) >= 1_000_000 } ?? false }

    /// Sends what is queued, and returns whether anything was sent.
    @discardableResult
    mutating func flush(to bytes: inout ByteStream) -> Bool {
        var hasSent = false
        isFull = false
        while isSending {
            takeOutput()
            guard sent < output.count else { break }
            let result = output.withUnsafeBytes { output in
                Result { () throws(StreamError) in
                    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
                    return try bytes.write(UnsafeRawBufferPointer(rebasing: output[sent...]), nothing)
                }
            }
            do throws(StreamError) {
                guard case .bytes(let count) = try result.get() else {
                    if bytes.channel.takeDelay() { reportReadiness() }
                    isFull = true
                    break
                }
                hasSent = true
                sent += count
            } catch {
                failSending(error)
            }
            if sent == output.count { finishOutput() }
        }
        if hasSent, flushRequest != nil { flushRequest = .now }
        return hasSent
    }

    /// Ends sending, so that the connection accepts no further exchanges.
    mutating func failSending(_ error: StreamError) {
        sendFailure = error
        wakeAll()
    }

    /// Moves the queued frames to the output, unless a part of it remains.
    private mutating func takeOutput() {
        guard output.isEmpty, frames.outputCount > 0 else { return }
        output.reserveCapacity(frames.outputCount)
        var taken = 0
        for piece in frames.output() {
            switch piece {
            case .frames(let frames): output += frames
            case .body(_, let count):
                output += bodies[taken..<taken + count]
                taken += count
            }
        }
        if taken > 0 { bodies.removeFirst(taken) }
    }

    private mutating func finishOutput() {
        frames.written(sent, at: .now, into: &events)
        output.removeAll(keepingCapacity: output.capacity <= 64 << 10)
        sent = 0
        handleEvents()
    }
}
