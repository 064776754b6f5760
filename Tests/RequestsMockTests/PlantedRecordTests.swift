import Requests
import RequestsMock
import TestSupport
import Testing

/// Every secret in every place, and public text, in recordings and reports.
@Suite("Planted secrets in recordings and reports")
struct PlantedRecordTests {
    private func outputs(of planted: PlantedSecrets) async throws -> [(name: String, text: String)] {
        var outputs: [(String, String)] = []
        let recorder = HARRecorder()
        let (response, body) = (planted.response, planted.body)
        let responder = MockExecutor { _ in
            MockResponse(status: response.status, header: response.header, body: [.bytes(body)])
        }
        _ = try await responder.intercepted(by: recorder).execute(planted.request)
        outputs.append(("the recording", String(decoding: recorder.archive.json, as: UTF8.self)))
        outputs.append(("the waterfall", recorder.archive.waterfallHTML + recorder.archive.waterfallText()))
        let mock = MockExecutor()
        mock.on(.get, "/other/list?page=1", respond: .status(200))
        mock.on(.post, "/files/other", respond: .status(200))
        do throws(RequestError) {
            _ = try await mock.execute(planted.request)
        } catch {
            outputs.append(("the report", "\(error)"))
            outputs.append(("the report's details", error.debugDescription))
        }
        var dumped = ""
        dump(mock, to: &dumped)
        dump(responder, to: &dumped)
        #expect(!dumped.contains("0x") && dumped.contains("MockExecutor"), "\(dumped)")
        return outputs + [("the mock", dumped)]
    }

    @Test("no recording or report contains a planted secret", .rows("R-74"), arguments: PlantedSecrets.places)
    func hidden(planted: PlantedSecrets) async throws {
        planted.expectHidden(in: try await outputs(of: planted))
    }

    @Test("a recording hides no public text", .rows("R-74"), arguments: PlantedSecrets.publicTexts)
    func shown(planted: PlantedSecrets) async throws {
        for (name, text) in try await outputs(of: planted) where name != "the mock" {
            for word in PlantedSecrets.publicWords.dropLast() {
                #expect(text.contains(word) || text.replacing("\\/", with: "/").contains(word), "\(name): \(text)")
            }
        }
        let recorder = HARRecorder()
        let body = planted.body
        _ = try await MockExecutor { _ in MockResponse(header: [.contentType(.json)], body: [.bytes(body)]) }
            .intercepted(by: recorder).execute(planted.request)
        let entry = try #require(recorder.archive.entries.first)
        #expect(entry.responseBody.data == body && entry.requestBody?.data == body)
        #expect(entry.url == "http://127.0.0.1:8180/accept/realm?\(PlantedSecrets.publicQuery)")
    }
}
