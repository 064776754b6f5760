import RequestsMiddleware
import TestSupport
import Testing

@Suite("Resume points of downloads")
struct ResumePointTests {
    private func response(
        _ status: HTTPStatus, _ fields: [(Field.Name, String)], decoded: Bool = false
    ) throws -> RawResponse {
        let header = Header(fields.map { Field(name: $0.0, value: $0.1) })
        var metrics = RawResponse.Metrics()
        if decoded { metrics.contentEncoding = "gzip" }
        return RawResponse(
            head: ResponseHead(status: status, header: header, target: try TargetURI("http://e.com/f?token=hunter2")),
            body: .bytes(Data()), metrics: metrics)
    }

    private func point(_ validator: String = "\"v1\"", length: String? = "100") throws -> ResumePoint {
        let name: Field.Name = validator.hasPrefix("\"") ? .etag : .lastModified
        return try #require(
            ResumePoint(
                response(
                    200,
                    [(name, validator), (.date, "Sun, 06 Nov 1994 08:49:38 GMT")]
                        + (length.map { [(.contentLength, $0)] } ?? []))))
    }

    @Test(
        "only a strong entity tag, or a modification date before the Date field, is a validator (RFC 9110 §13.1.5)",
        arguments: [
            ([(.etag, "\"v1\"")], "\"v1\""), ([(.etag, "W/\"v1\"")], nil), ([(.etag, "v1")], nil), ([], nil),
            (
                [(.lastModified, "Sun, 06 Nov 1994 08:49:37 GMT"), (.date, "Sun, 06 Nov 1994 08:49:38 GMT")],
                "Sun, 06 Nov 1994 08:49:37 GMT"
            ),
            ([(.lastModified, "Sun, 06 Nov 1994 08:49:37 GMT"), (.date, "Sun, 06 Nov 1994 08:49:37 GMT")], nil),
            ([(.lastModified, "Sun, 06 Nov 1994 08:49:37 GMT")], nil),
            ([(.lastModified, "yesterday"), (.date, "Sun, 06 Nov 1994 08:49:37 GMT")], nil),
            // With a weak tag the bytes can differ, so the date is not used either.
            (
                [
                    (.etag, "W/\"v1\""), (.lastModified, "Sun, 06 Nov 1994 08:49:37 GMT"),
                    (.date, "Sun, 06 Nov 1994 09:49:37 GMT"),
                ], nil
            ),
            (
                [
                    (.etag, "\"v1\""), (.lastModified, "Sun, 06 Nov 1994 08:49:37 GMT"),
                    (.date, "Sun, 06 Nov 1994 09:49:37 GMT"),
                ], "\"v1\""
            ),
            ([(.etag, "\"v1\""), (.acceptRanges, "none")], nil),
            ([(.etag, "\"v1\""), (.acceptRanges, "bytes")], "\"v1\""),
        ] as [([(Field.Name, String)], String?)])
    func validators(fields: [(Field.Name, String)], validator: String?) throws {
        let point = try ResumePoint(response(200, fields))
        #expect(point?.validator == validator)
        #expect(try ResumePoint(response(200, fields, decoded: true)) == nil)
        #expect(try ResumePoint(response(203, fields)) == nil)
        guard let point, let validator else { return }
        #expect(
            point.fields(after: 7) == [
                Field(name: .range, value: "bytes=7-"), Field(name: .ifRange, value: validator),
            ])
        #expect(point.target == "http://e.com/f?token=<redacted>")
    }

    @Test(
        "the decision for each response after 40 of 100 bytes (RFC 9110 §14.4, §15.3.7, §15.5.17)",
        arguments: [
            (206, [(.contentRange, "bytes 40-99/100")], .append(end: 100, length: 100)),
            (206, [(.contentRange, "bytes 40-99/*")], .append(end: 100, length: 100)),
            (
                206, [(.contentRange, "bytes 40-99/100"), (.contentRange, "bytes 40-99/100")],
                .append(end: 100, length: 100)
            ),
            (206, [(.contentRange, "bytes 40-99/100"), (.contentRange, "bytes 0-99/100")], .startOver),
            (206, [(.contentRange, "bytes 0-99/100"), (.contentRange, "bytes 40-99/100")], .startOver),
            (206, [(.contentRange, "bytes 40-99/100"), (.contentRange, "x")], .startOver),
            (416, [(.contentRange, "bytes */40"), (.contentRange, "bytes */41")], .startOver),
            (206, [(.contentRange, "bytes 40-49/100")], .append(end: 50, length: 100)),
            (206, [(.contentRange, "bytes 40-99/100"), (.etag, "\"v1\"")], .append(end: 100, length: 100)),
            (206, [(.contentRange, "bytes 40-99/100"), (.etag, "\"v2\"")], .startOver),
            (206, [(.contentRange, "bytes 40-99/100"), (.etag, "W/\"v1\"")], .startOver),
            (206, [(.contentRange, "bytes 39-99/100")], .startOver),
            (206, [(.contentRange, "bytes 41-99/100")], .startOver),
            (206, [(.contentRange, "bytes 0-99/100")], .startOver),
            (206, [(.contentRange, "bytes 40-100/101")], .startOver),
            (206, [(.contentRange, "bytes 40-99/99")], .startOver),
            (206, [(.contentRange, "lines 40-99/100")], .startOver),
            (206, [(.contentRange, "bytes 40-9223372036854775807/100")], .startOver),
            (206, [], .startOver),
            (
                206, [(.contentRange, "bytes 40-99/100"), (.contentType, "multipart/byteranges; boundary=x")],
                .startOver
            ),
            (416, [(.contentRange, "bytes */40")], .startOver), (416, [(.contentRange, "bytes */100")], .startOver),
            (416, [], .startOver), (200, [], .replace), (200, [(.contentRange, "bytes 40-99/100")], .replace),
            (204, [], .replace), (302, [], .deliver), (304, [], .deliver), (404, [], .deliver), (503, [], .deliver),
        ] as [(HTTPStatus, [(Field.Name, String)], ResumePoint.Decision)])
    func decisions(status: HTTPStatus, fields: [(Field.Name, String)], decision: ResumePoint.Decision) throws {
        #expect(try ResumePoint.step(for: response(status, fields), at: point(), after: 40) == decision)
    }

    @Test(
        "a part whose last position is not an integer below 2^63 - 1 restarts the download", .rows("R-75"),
        arguments: [
            ("9223372036854775806", .append(end: .max, length: nil)), ("9223372036854775807", .startOver),
            ("9223372036854775808", .startOver), ("18446744073709551616", .startOver), ("-1", .startOver),
            (String(repeating: "9", count: 400), .startOver),
        ] as [(String, ResumePoint.Decision)])
    func extremes(last: String, decision: ResumePoint.Decision) throws {
        let part = try response(206, [(.contentRange, "bytes 40-\(last)/*")])
        #expect(try ResumePoint.step(for: part, at: point(length: nil), after: 40) == decision)
    }

    @Test(
        "an invalid Content-Length is an unknown length", .rows("R-9", "R-75"),
        arguments: ["+5", "-5", "9223372036854775808", ""])
    func lengths(text: String) throws {
        #expect(try point(length: text).length == nil)
    }

    @Test("416 finishes a complete download, and is delivered to a request without a range")
    func unsatisfiable() throws {
        let all = try response(416, [(.contentRange, "bytes */40")])
        #expect(try ResumePoint.step(for: all, at: point(length: "40"), after: 40) == .finish)
        #expect(try ResumePoint.step(for: all, at: point(length: nil), after: 40) == .finish)
        #expect(ResumePoint.step(for: all, at: nil, after: 0) == .deliver)
    }

    @Test("an unsolicited part is rejected, and a decoded part restarts the download")
    func unsolicited() throws {
        let fields: [(Field.Name, String)] = [(.contentRange, "bytes 40-99/100")]
        #expect(try ResumePoint.step(for: response(206, fields), at: nil, after: 0) == .refuse)
        #expect(try ResumePoint.step(for: response(206, fields, decoded: true), at: point(), after: 40) == .startOver)
    }
}
