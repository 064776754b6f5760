import CRequestsPOSIX
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

/// The place of a recorder.
private enum Seat: CaseIterable {
    /// Between the executor and the middleware that decodes.
    case behindDecoding
    /// Between the client and the middleware that decodes.
    case beforeDecoding
    /// Next to an executor, without middleware that decodes.
    case withoutDecoding

    func executor(_ mock: MockExecutor, _ recorder: HARRecorder) -> any RequestExecutor {
        switch self {
        case .behindDecoding: mock.intercepted(by: recorder).decodingContent()
        case .beforeDecoding: mock.decodingContent().intercepted(by: recorder)
        case .withoutDecoding: mock.intercepted(by: recorder)
        }
    }
}

private let target = "http://a.test/x"
private let content = Data((0..<2_000).map { UInt8(truncatingIfNeeded: $0 &* $0) })
private let deliveries: [ResponseBody.Delivery] = [.collected(limit: 1 << 20), .streamed]

private func request(_ delivery: ResponseBody.Delivery) throws -> PreparedRequest {
    PreparedRequest(target: try TargetURI(target), delivery: delivery)
}

/// Returns executors that replay `archive` after it has been written and read, with and without decoding.
private func replays(_ archive: HARArchive) throws -> [any RequestExecutor] {
    let read = try HARArchive(parsing: archive.json)
    #expect(read.skippedEntries == [])
    return [
        MockExecutor(replaying: archive), MockExecutor(replaying: read),
        MockExecutor(replaying: archive).decodingContent(), MockExecutor(replaying: read).decodingContent(),
    ]
}

/// Expects that a replay delivers the head, and fails with `detail` when the body is read.
private func expectMissing(_ archive: HARArchive, _ detail: String) async throws {
    for executor in try replays(archive) {
        let error = await #expect(throws: RequestError.self) {
            try await executor.execute(request(.collected(limit: 1 << 20))).whole()
        }
        #expect(error?.reason == .other && error?.detail == detail && error?.status == 200)
    }
    for executor in try replays(archive) {
        let response = try await executor.execute(request(.streamed))
        #expect(response.status == 200)
        let error = await #expect(throws: RequestError.self) { try await response.whole() }
        #expect(error?.reason == .other && error?.detail == detail)
    }
}

@Suite(
    "Recordings of coded bodies", .timeLimit(.minutes(10)),
    .enabled(if: !Coding.available.isEmpty, "zlib is not installed"))
struct RecordedCodingTests {
    @Test(
        "a coded body is recorded decoded and replayed with and without decoding, wherever the recorder is",
        arguments: Coding.available, Seat.allCases)
    fileprivate func codings(coding: Coding, seat: Seat) async throws {
        let coded = try #require(coding.apply(to: content))
        let twice = try #require(Coding.gzip.apply(to: coded))
        let responses: [MockResponse] = [
            .coded(coded, coding.name), .bytewise(coded, coding.name), .coded(twice, "\(coding.name), x-GZIP"),
            .coded(content, "identity"), .coded(Data(), coding.name, status: 404),
        ]
        for response in responses {
            let expected = response.status == 404 ? Data() : content
            for delivery in deliveries {
                let recorder = HARRecorder()
                let executor = seat.executor(MockExecutor(response), recorder)
                let body = try await executor.execute(request(delivery)).whole()
                if seat != .withoutDecoding { #expect(body == expected) }
                let entry = try #require(recorder.archive.entries.first)
                #expect(entry.responseBody.data == expected && entry.responseBody.size == expected.count)
                #expect(entry.comment == nil)
                for executor in try replays(recorder.archive) {
                    let replayed = try await executor.execute(request(delivery))
                    #expect(!replayed.header.contains(.contentEncoding))
                    #expect(try await replayed.whole() == expected)
                }
            }
        }
    }

    @Test("a body that cannot be decoded is recorded without its bytes, and a replay fails with the reason")
    func undecodable() async throws {
        let gzip = try #require(Coding.gzip.apply(to: content))
        var damaged = gzip
        damaged[damaged.count - 6] ^= 0xFF
        let cases: [(Data, String, String)] = [
            (damaged, "gzip", "incorrect data check"), (gzip.dropLast(9), "gzip", "gzip data is truncated"),
            (gzip + Data([0]), "gzip", "unexpected bytes after the end"),
            (gzip, "x-own", "unsupported content coding “x-own”"),
            (gzip, "gzip, gzip, gzip, gzip, gzip, gzip", "more than 5 content codings"),
        ]
        for (data, coding, problem) in cases {
            let isRefused = ["x-own", "gzip, gzip, gzip, gzip, gzip, gzip"].contains(coding)
            for (seat, delivery) in deliveries.flatMap({ way in Seat.allCases.map { ($0, way) } }) {
                let recorder = HARRecorder()
                let executor = seat.executor(MockExecutor(.coded(data, coding)), recorder)
                _ = try? await executor.execute(request(delivery)).whole()
                let entry = try #require(recorder.archive.entries.first)
                if seat == .beforeDecoding {
                    // There, the error of the middleware ends the exchange.
                    #expect(entry.status == nil && entry.responseBody.data == nil)
                    #expect(entry.comment?.hasPrefix("failed: ") == true)
                    continue
                }
                // The middleware reads no body whose codings it does not know.
                let isRead = !isRefused || delivery != .streamed || seat == .withoutDecoding
                let reason = isRead ? "the body cannot be decoded: \(problem)" : "the body was not read to its end"
                let size = isRead ? " of \(data.count) bytes" : ""
                #expect(entry.responseBody.data == nil && entry.responseBody.size == (isRead ? data.count : 0))
                #expect(entry.comment == reason)
                try await expectMissing(recorder.archive, "the recording lacks the body\(size): \(reason)")
            }
        }
    }

    @Test("the limit of a recording applies to decoded bytes")
    func limit() async throws {
        let coded = try #require(Coding.gzip.apply(to: Data(count: 10_000)))
        for size in [9_999, 10_000] {
            var limits = HARRecorder.Limits()
            limits.bodyBytes = size
            let recorder = HARRecorder(limits: limits)
            _ = try await MockExecutor(.coded(coded, "gzip")).intercepted(by: recorder)
                .execute(request(.collected(limit: 1 << 20)))
            let entry = try #require(recorder.archive.entries.first)
            #expect(entry.responseBody.data == (size == 10_000 ? Data(count: 10_000) : nil))
            let reason = "the body cannot be decoded: it decodes to more than 9999 bytes"
            #expect(entry.comment == (size == 10_000 ? nil : reason))
        }
    }

    @Test("an event stream in gzip that is not ended is recorded")
    func eventStream() async throws {
        let event = Data("data: a\n\n".utf8)
        let flushed = try #require(Deflater(windowBits: rp_z_gzip)).append(event)
        let type = MediaType(type: .text, subtype: "event-stream")
        let response = MockResponse.data(flushed, contentType: type).coded("gzip")
        let recorder = HARRecorder()
        let executor = Seat.behindDecoding.executor(MockExecutor(response), recorder)
        #expect(try await executor.execute(request(.streamed)).whole() == event)
        #expect(recorder.archive.entries.first?.responseBody.data == event)
    }

    @Test("secrets in a coded body are not recorded")
    func secrets() async throws {
        let json = Data(#"{"access_token":"planted-secret","list":[1]}"#.utf8)
        let coded = try #require(Coding.gzip.apply(to: json))
        let response = MockResponse.data(coded, contentType: .json).coded("gzip")
        let recorder = HARRecorder()
        let executor = Seat.behindDecoding.executor(MockExecutor(response), recorder)
        #expect(try await executor.execute(request(.streamed)).whole() == json)
        let recorded = Data(#"{"access_token":"<redacted>","list":[1]}"#.utf8)
        #expect(recorder.archive.entries.first?.responseBody.data == recorded)
    }

    @Test("a body is replayed only if it was read to its end")
    func partlyRead() async throws {
        for pieces in 0...2 {
            let recorder = HARRecorder()
            let body: [MockResponse.BodyEvent] = [.bytes(Data("one".utf8)), .bytes(Data("two".utf8))]
            let executor = MockExecutor(MockResponse(status: 200, body: body)).intercepted(by: recorder)
            do {
                let response = try await executor.execute(request(.streamed))
                for _ in 0..<pieces { _ = try await response.stream?.next() }
            }
            let entry = try #require(recorder.archive.entries.first)
            if entry.responseBody.size == 6 {
                #expect(entry.responseBody.data == Data("onetwo".utf8) && entry.comment == nil)
                continue
            }
            #expect(pieces < 2 && entry.responseBody.data == nil)
            let size = entry.responseBody.size == 0 ? "" : " of \(entry.responseBody.size) bytes"
            try await expectMissing(
                recorder.archive, "the recording lacks the body\(size): the body was not read to its end")
        }
    }

    @Test("a redirect and a HEAD whose bodies were not read are replayed")
    func withoutBody() async throws {
        let redirect = MockResponse(status: 302, header: [Field(name: .location, value: "/y")], body: [.bytes(content)])
        let recorder = HARRecorder()
        let executor = MockExecutor(redirect).intercepted(by: recorder)
        var head = try request(.streamed)
        head.method = .head
        _ = try await executor.execute(head)
        _ = try await executor.execute(request(.streamed))
        for replay in try replays(recorder.archive) {
            #expect(try await replay.execute(head).whole() == Data())
            #expect(try await replay.execute(request(.streamed)).header[.location] == "/y")
        }
    }
}
