import Requests

extension MockExecutor {
    /// The handling of a request that no stub matches.
    public struct Unmatched: Sendable {
        indirect enum Kind: Sendable {
            case throwing
            case intercepting(HTTPStatus)
            case passing(any RequestExecutor)
            case constant(MockResponse)
            case responding(MockExecutor.Handler)
            case choosing(@Sendable (PreparedRequest) -> Unmatched)
        }

        let kind: Kind

        /// Returns what to do with `request`, after at most 16 choices.
        func resolved(for request: PreparedRequest) -> Kind {
            var kind = kind
            // The limit ends the choices of a function that returns its own handling.
            for _ in 0..<16 {
                guard case .choosing(let choose) = kind else { return kind }
                kind = choose(request).kind
            }
            return kind
        }

        /// The call fails with a report: the nearest stubs, their differences, and a line that adds a stub.
        ///
        /// The reason is ``/Requests/RequestError/Reason/other`` with an ``UnmatchedRequest`` as the underlying error.
        /// Retry middleware does not repeat the request.
        public static var throwing: Unmatched { Unmatched(kind: .throwing) }

        /// The response is a 500 with a marker, as in PMHTTP.
        ///
        /// Its text is `No mock found for URL.`, its fields `Cache-Control: no-store` and `X-PMHTTP-Mock: intercepted`.
        /// `ResponseHead.isInterceptedByMock` recognizes it.
        public static var intercepting: Unmatched { intercepting(status: 500) }

        /// Returns the handling of ``intercepting``, with another status of the response.
        public static func intercepting(status: HTTPStatus) -> Unmatched { Unmatched(kind: .intercepting(status)) }

        /// Returns a handling that passes the request to `executor`, such as one that uses the network.
        public static func passingThrough(to executor: any RequestExecutor) -> Unmatched {
            Unmatched(kind: .passing(executor))
        }

        /// Returns a handling that `choose` determines for each request.
        public static func choosing(_ choose: @escaping @Sendable (PreparedRequest) -> Unmatched) -> Unmatched {
            Unmatched(kind: .choosing(choose))
        }
    }

    /// The error of a request that no stub matches, as the underlying error of a `RequestError`.
    public struct UnmatchedRequest: Error, CustomStringConvertible {
        /// The report, without secrets: the request, the nearest stubs and a line that adds a stub.
        public let description: String
    }
}

extension MockResponse {
    /// Returns the response of PMHTTP to a request that it intercepts (PM-126).
    static func intercepted(_ status: HTTPStatus, _ text: String) -> MockResponse {
        MockResponse.data(Data(text.utf8), contentType: .utf8Text, status: status)
            .adding(headerField: Field(name: .cacheControl, value: "no-store"))
            .adding(headerField: Field(name: ResponseHead.interceptionMarker, value: "intercepted"))
    }
}

extension ResponseHead {
    static var interceptionMarker: Field.Name { "X-PMHTTP-Mock" }

    /// Whether a mock made this response, because no stub or route matched the request.
    public var isInterceptedByMock: Bool {
        header[Self.interceptionMarker]?.hasSameBytes(as: "intercepted") == true
            || header["X-Requests-Mock"]?.hasSameBytes(as: "unmatched") == true
    }
}
