import Foundation
import Requests
import RequestsHTTP2
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("HTTP/2: lost streams and connections", .tags(.concurrent), .timeLimit(.minutes(5)))
struct HTTP2LossTests {
    @Test("a refused stream is sent again with any method, at most twice", .rows("H-21", "H-25"))
    func refused() async throws {
        for refusals in 0...3 {
            let peer = try ScriptedPeer.refusing(refusals) { script, line in
                // Only the first request is sent before the settings are known.
                if let request = script.request(on: line) { script.respond(to: request.slot, on: line) }
            }
            let executor = SocketExecutor.http2()
            _ = try await executor.execute(peer.request())
            let request = try peer.request(.post, body: .bytes(Data("body".utf8)))
            if refusals < 3 {
                let response = try await executor.execute(request)
                #expect(response.text == "ok" && response.metrics.transmissions == refusals + 1)
            } else {
                let error = await executor.failure(of: request)
                #expect(error?.reason == .connectionLost && error?.detail?.contains("REFUSED_STREAM") == true)
            }
            #expect(peer.notes.count == min(refusals + 1, 3))
        }
    }

    @Test("a request refused in the first flight is sent again on the same connection", .rows("H-39"))
    func refusedFirstFlight() async throws {
        for count in [0, 100_000] {
            // As nginx with `http2_body_preread_size 0`, each connection refuses its first stream.
            let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
                guard let (slot, _) = script.head(on: line) else { return }
                peer.note("refused")
                script.reset(slot, .refusedStream, on: line)
                while let request = script.request(on: line) {
                    script.respond(to: request.slot, body: "\(request.body.count)", on: line)
                }
            }
            let executor = SocketExecutor.http2()
            for transmissions in [2, 1] {
                let body = RequestBody.bytes(Data(count: count))
                let response = try await executor.execute(peer.request(.post, body: body))
                #expect(response.text == "\(count)")
                #expect(response.metrics.transmissions == transmissions && response.metrics.isReusedConnection)
            }
            #expect(peer.connections == 1 && peer.notes == ["refused"])
        }
    }

    @Test("a stream reset with another code is not sent again, and the error has the code", .rows("H-21"))
    func otherCodes() async throws {
        for code in [HTTP2ErrorCode.internalError, .cancel, .noError, .enhanceYourCalm, .http11Required] {
            let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
                while let request = script.request(on: line) {
                    peer.note("\(request.head.method)")
                    if request.head.path == "/first" {
                        script.respond(to: request.slot, on: line)
                    } else {
                        script.reset(request.slot, code, on: line)
                    }
                }
            }
            // On a connection that has carried an exchange, too.
            for (isReused, method) in [(false, HTTPMethod.get), (true, .get), (true, .delete)] {
                let executor = SocketExecutor.http2()
                if isReused { _ = try await executor.execute(peer.request(.put, "/first")) }
                let error = await executor.failure(of: try peer.request(method))
                #expect(error?.reason == .connectionLost)
                #expect(error?.mayHaveReachedServer == (code != .http11Required))
                #expect(error?.detail == "the server reset the stream: \(code) (RFC 9113 §7)")
            }
            #expect(peer.notes == ["GET", "PUT", "GET", "PUT", "DELETE"], "\(code)")
        }
    }

    @Test("a request above the last stream of GOAWAY is sent again, and one at or below it finishes", .rows("H-20"))
    func goAway() async throws {
        for (last, connections) in [(StreamID(0), 2), (1, 1)] {
            let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, number, _ in
                guard let request = script.request(on: line) else { return }
                if number == 0 { script.send(on: line) { $0.goAway(lastStream: last, .noError) } }
                if number > 0 || last > 0 { script.respond(to: request.slot, on: line) }
                line.waitForEnd()
            }
            let executor = SocketExecutor.http2()
            let response = try await executor.execute(peer.request(.post, body: .bytes(Data("x".utf8))))
            #expect(response.text == "ok" && peer.connections == connections)
        }
    }

    @Test("GOAWAY with an error names its code and its text", .rows("H-20"))
    func goAwayWithError() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            guard script.request(on: line) != nil else { return }
            script.send(on: line) { $0.goAway(lastStream: 1, .enhanceYourCalm, debugText: "too many") }
        }
        let error = await SocketExecutor.http2().failure(of: try peer.request())
        let detail = "the server ended the connection with GOAWAY: ENHANCE_YOUR_CALM, “too many”"
        #expect(error?.reason == .connectionLost && error?.detail == detail, "\(error?.detail ?? "")")
    }

    @Test("the error of a request that three connections exclude has the text of GOAWAY", .rows("H-20"))
    func excluded() async throws {
        for closes in [false, true] {
            let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
                guard script.request(on: line) != nil else { return }
                script.send(on: line) { $0.goAway(lastStream: 0, .enhanceYourCalm, debugText: "too many") }
                if !closes { line.waitForEnd() }
            }
            let error = await SocketExecutor.http2().failure(of: try peer.request(.post))
            #expect(error?.detail?.contains("ENHANCE_YOUR_CALM, “too many”") == true, "\(error?.detail ?? "")")
            #expect(error?.mayHaveReachedServer == false && peer.connections == 3)
        }
    }

    @Test("a body whose source has begun is not sent again; one that has not begun is", .rows("H-22"))
    func sources() async throws {
        for isReplayable in [false, true] {
            let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
                guard let (slot, _) = script.head(on: line) else { return }
                peer.note("request")
                // The first piece proves that the source has begun.
                _ = script.next(on: line)
                script.reset(slot, .refusedStream, on: line)
                guard let request = script.request(on: line) else { return }
                peer.note("request")
                script.respond(to: request.slot, on: line)
                line.waitForEnd()
            }
            let body = RequestBody.stream(length: nil, isReplayable: isReplayable) { Endless(5) }
            let error = await SocketExecutor.http2().failure(of: try peer.request(.post, body: body))
            #expect((error == nil) == isReplayable && peer.notes.count == (isReplayable ? 2 : 1))
        }
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            guard let (slot, _) = script.head(on: line) else { return }
            script.reset(slot, .refusedStream, on: line)
            guard let (slot, _) = script.head(on: line) else { return }
            script.respond(to: slot, on: line)
            line.waitForEnd()
        }
        // The body waits for 100 (Continue), so its source has not begun.
        var request = try peer.request(
            .post, body: .stream(length: nil, isReplayable: false) { Endless(5) })
        request.continueTimeout = .seconds(30)
        let response = try await SocketExecutor.http2().execute(request)
        #expect(response.text == "ok")
    }

    @Test("a connection cut after any byte ends the exchange with an error or with its whole body", .rows("H-23"))
    func cuts() async throws {
        let body = String(repeating: "x", count: 100)
        var succeeded = 0
        for limit in stride(from: 0, to: 260, by: 1) {
            let peer = try ScriptedPeer(http2: HTTP2Limits(), sendingAtMost: limit) { script, line, _, _ in
                guard let request = script.request(on: line) else { return }
                if script.respond(to: request.slot, body: body, on: line) { line.waitForEnd() }
            }
            let request = try peer.request(.post)
            let result = await Result(catching: { () async throws(RequestError) in
                try await SocketExecutor.http2().execute(request)
            })
            switch result {
            case .success(let response):
                #expect(response.text == body)
                succeeded += 1
            case .failure(let error):
                #expect(error.reason == .connectionLost, "\(limit): \(error)")
                // A peer that cannot send its SETTINGS ends the connection before it reads the request.
                #expect(error.mayHaveReachedServer || limit < 40, "\(limit): \(error)")
                #expect(peer.connections == 1)
            }
            peer.stop()
        }
        #expect(0 < succeeded && succeeded < 200)
    }

    @Test("what arrived on an idle connection is read before the next stream", .rows("H-47"))
    func idle() async throws {
        let rows: [(frames: @Sendable (inout FrameWriter) -> Void, closes: Bool, connections: Int)] = [
            ({ $0.ping(Array(0..<8), isAcknowledgement: false) }, false, 1),
            ({ $0.settings([(4, 1_000)]) }, false, 1),
            ({ $0.goAway(lastStream: 1, .noError) }, false, 2),
            ({ $0.windowUpdate(0, increment: 0) }, false, 2),
            ({ _ in }, true, 2),
        ]
        for row in rows {
            let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, number, peer in
                var count = 0
                while let request = script.request(on: line) {
                    script.respond(to: request.slot, on: line)
                    count += 1
                    guard number == 0, count == 1 else { continue }
                    _ = peer.waitForResume()
                    script.send(on: line, row.frames)
                    if row.closes { line.socket.shutDown(.both) }
                    peer.note("sent")
                }
            }
            let executor = SocketExecutor.http2()
            _ = try await executor.execute(peer.request())
            peer.resume()
            await eventually { peer.notes == ["sent"] }
            let response = try await executor.execute(peer.request(.post, body: .bytes(Data("x".utf8))))
            #expect(response.text == "ok" && response.metrics.transmissions == 1)
            #expect(peer.connections == row.connections)
        }
    }

    @Test(
        "an early refusal with NO_ERROR is delivered whole, and the connection carries the next exchange", .rows("H-19")
    )
    func earlyResponse() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            while let (slot, _) = script.head(on: line) {
                peer.note("request")
                script.respond(to: slot, 413, body: "too large", resetWith: .noError, on: line)
            }
        }
        let executor = SocketExecutor.http2()
        for _ in 0..<2 {
            let body = RequestBody.stream(length: nil, isReplayable: false) { Endless(.max) }
            let response = try await executor.execute(peer.request(.post, body: body))
            #expect(response.head.status == 413 && response.text == "too large")
            #expect(response.metrics.isRequestBodyIncomplete)
        }
        #expect(peer.connections == 1 && peer.notes.count == 2)
    }

    @Test("a success is an error if the connection ends before the server has read the body", .rows("R-45"))
    func cutUpload() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            guard let (slot, _) = script.head(on: line) else { return }
            script.respond(to: slot, on: line)
            line.socket.shutDown(.both)
        }
        let body = RequestBody.stream(length: nil, isReplayable: false) { Endless(.max) }
        let error = await SocketExecutor.http2().failure(of: try peer.request(.post, body: body))
        #expect(error?.reason == .connectionLost && error?.response?.status == 200)
    }

    @Test("a response that arrives together with window for the last bytes of the request ends the call", .rows("H-15"))
    func responseWithWindow() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            var writer = FrameWriter()
            writer.settings([(4, 0)])
            line.send(writer.bytes)
            guard line.receive() != nil else { return }
            // The window and the whole response in one segment.
            var block: [UInt8] = []
            var encoder = HPACKEncoder()
            encoder.encode(OutgoingFields(status: 204, .empty), into: &block)
            writer.replaceAll(with: [])
            writer.settingsAcknowledgement()
            writer.headers(block, on: 1, endsStream: true)
            writer.windowUpdate(1, increment: 1_000)
            line.send(writer.bytes)
            line.waitForEnd()
        }
        var request = try peer.request(.post, body: .bytes(Data(count: 100)))
        request.continueTimeout = .milliseconds(200)
        let result = try await onThread { [request] in SocketExecutor.http2().inPlace(request) }
        #expect(try result.get().head.status == 204)
    }

    @Test("delayed and shortened transfers change nothing, and a failed one is an error", .rows("R-70", "H-21"))
    func faults() async throws {
        for number in 1...14 {
            for fault in [
                TransferFaults.Fault.delayTransfer(number), .shortenTransfer(number), .failTransfer(number),
            ] {
                let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
                    while let request = script.request(on: line) {
                        script.respond(to: request.slot, body: "\(request.body.count)", on: line)
                    }
                }
                let executor = SocketExecutor.http2 { $0.faults = TransferFaults(fault, code: ECONNRESET) }
                let request = try peer.request(.post, body: .bytes(Data(count: 150_000)))
                let result = await Result(catching: { () async throws(RequestError) in
                    try await executor.execute(request)
                })
                switch (fault, result) {
                // The second transfer receives; after the first one, nothing was sent, so the request is sent again.
                case (.failTransfer(2), .success): Issue.record("\(fault) had no effect")
                case (.failTransfer(1), .success(let response)): #expect(response.metrics.transmissions == 2)
                case (.failTransfer(1), .failure(let error)): Issue.record("was not sent again: \(error)")
                case (_, .success(let response)): #expect(response.text == "150000")
                case (.failTransfer, .failure(let error)): #expect(error.reason == .connectionLost, "\(error)")
                case (_, .failure(let error)): Issue.record("\(fault): \(error)")
                }
            }
        }
    }

    @Test("a window that stays closed ends an upload at its limit, in the phase of sending", .rows("H-18"))
    func closedWindow() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            var writer = FrameWriter()
            writer.settings([(4, 0)])
            line.send(writer.bytes)
            line.waitForEnd()
        }
        var request = try peer.request(.post, body: .bytes(Data(count: 100)))
        // The SETTINGS are read before the body is sent.
        request.continueTimeout = .milliseconds(200)
        request.timeouts.betweenBytes = .milliseconds(300)
        let error = await SocketExecutor.http2().failure(of: request)
        #expect(error?.reason == .timedOut(.sending))
    }

    @Test("after a success, only NO_ERROR stops an upload without an error", .rows("H-19", "R-45"))
    func resetAfterSuccess() async throws {
        for (code, status) in [(HTTP2ErrorCode.noError, 200), (.internalError, nil), (.cancel, nil)] {
            let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
                guard let (slot, _) = script.head(on: line) else { return }
                script.respond(to: slot, on: line)
                script.send(on: line) { $0.resetStream(slot.stream, code) }
                line.waitForEnd()
            }
            let body = RequestBody.stream(length: nil, isReplayable: false) { Endless(.max) }
            let request = try peer.request(.post, body: body)
            let result = await Result(catching: { () async throws(RequestError) in
                try await SocketExecutor.http2().execute(request)
            })
            switch result {
            case .success(let response): #expect(response.head.status.code == status && response.text == "ok")
            case .failure(let error): #expect(status == nil && error.reason == .connectionLost, "\(error)")
            }
        }
    }

    @Test("PINGs that arrive more often than the first-byte limit do not extend it", .rows("H-26"))
    func pings() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            guard let request = script.request(on: line) else { return }
            // A call whose limit each PING extends would wait for the response.
            for _ in 0..<6_000 {
                script.send(on: line) { $0.ping(Array(0..<8), isAcknowledgement: false) }
                line.pause()
                if line.socket.liveness() == .closed { return }
            }
            script.respond(to: request.slot, on: line)
        }
        var request = try peer.request()
        request.timeouts.firstByte = .milliseconds(200)
        let error = await SocketExecutor.http2().failure(of: request)
        #expect(error?.reason == .timedOut(.firstByte))
    }
}

/// A source of `count` pieces.
private struct Endless: RequestBody.Source {
    private var count: Int
    init(_ count: Int) { self.count = count }
    mutating func next() async throws -> Data? {
        if count == 0 { return nil }
        count -= 1
        await Task.yield()
        return Data(count: 10)
    }
}
