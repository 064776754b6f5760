import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

/// Every secret in every place, and public text, in logs and traces.
@Suite("Planted secrets in logs and traces")
struct PlantedLogTests {
    private func outputs(of planted: PlantedSecrets) async throws -> [(name: String, text: String)] {
        let (entries, spans) = (Collected<RequestLogging.Entry>(), Collected<RequestTracing.Span>())
        let (response, body) = (planted.response, planted.body)
        let executor = MockExecutor { _ in
            MockResponse(status: response.status, header: response.header, body: [.bytes(body)])
        }.observing(.attempts, by: RequestLogging.trace(bodies: true) { entries.add($0) })
            .observing(.attempts, by: RequestLogging(requests: .everything, responses: .everything) { entries.add($0) })
            .observing(.attempts, by: RequestLogging { entries.add($0) })
            .observing(.attempts, by: RequestTracing { spans.add($0) })
        _ = try await executor.execute(planted.request)
        var dumped = ""
        for entry in entries.elements { dump(entry, to: &dumped) }
        for span in spans.elements { dump(span, to: &dumped) }
        #expect(entries.elements.count == 6 && spans.elements.count == 1)
        return [
            ("the log", entries.elements.map { "\($0) \($0.report.map { "\($0)" } ?? "")" }.joined(separator: "\n")),
            ("the span", spans.elements.map { "\($0)" }.joined()), ("the dump", dumped),
        ]
    }

    @Test("no log or trace contains a planted secret", .rows("R-74"), arguments: PlantedSecrets.places)
    func hidden(planted: PlantedSecrets) async throws {
        planted.expectHidden(in: try await outputs(of: planted))
    }

    @Test("no log or trace hides public text", .rows("R-74"), arguments: PlantedSecrets.publicTexts)
    func shown(planted: PlantedSecrets) async throws {
        let url = "http://127.0.0.1:8180/accept/realm?\(PlantedSecrets.publicQuery)"
        for (name, text) in try await outputs(of: planted) {
            #expect(text.contains(url), "\(planted) in \(name): \(text)")
        }
        let log = try await outputs(of: planted)[0].text
        for line in String(decoding: planted.body, as: UTF8.self).split(separator: "\n") {
            #expect(log.contains(line), "\(planted): \(log)")
        }
    }
}
