import Requests
import Testing

@Suite("HTTPMethod and HTTPStatus")
struct StatusAndMethodTests {
    @Test("idempotent are the methods of RFC 9110 §9.2.2, spelled exactly (RQ-20, C30)")
    func idempotent() {
        for method: HTTPMethod in [.get, .head, .options, .trace, .put, .delete] { #expect(method.isIdempotent) }
        for method: HTTPMethod in [.post, .patch, .connect, "PURGE", "get", "put"] { #expect(!method.isIdempotent) }
    }

    @Test("each status is of one class, at most")
    func classes() {
        for code in [-1, 0, 99, 600, 999, 1_000] {
            let status = HTTPStatus(code)
            #expect(!status.isInformational && !status.isSuccess && !status.isRedirection)
            #expect(!status.isClientError && !status.isServerError && !status.forbidsBody)
            #expect(status.reasonPhrase == "Unknown")
        }
        for code in 100..<600 {
            let status = HTTPStatus(code)
            let classes = [
                status.isInformational, status.isSuccess, status.isRedirection, status.isClientError,
                status.isServerError,
            ]
            #expect(classes.firstIndex(of: true) == code / 100 - 1 && classes.count { $0 } == 1)
            #expect(status.forbidsBody == (code < 200 || code == 204 || code == 304))
        }
    }

    @Test(
        "phrases are the registry's, the class's name without one (L15)",
        arguments: [
            (200, "OK"), (404, "Not Found"), (418, "Client Error"), (299, "Success"), (520, "Server Error"),
            (422, "Unprocessable Content"), (103, "Early Hints"), (499, "Client Error"), (399, "Redirection"),
        ])
    func phrases(code: Int, phrase: String) {
        #expect(HTTPStatus(code).reasonPhrase == phrase)
        #expect("\(HTTPStatus(code))" == "\(code) \(phrase)")
    }
}
