import Requests
import RequestsMiddleware
import RequestsSocket

// The code in the article on observing and in the module's overview, which `MiddlewareArticleTests` runs; a House test
// finds each of their snippets in this file, line for line.

enum ObservingArticle {
    /// A place that receives the values of an observer.
    struct Sink<Value: Sendable>: Sendable {
        let receive: @Sendable (Value) -> Void

        func add(_ value: Value) { receive(value) }
        func record(_ value: Value) { receive(value) }
        func log(_ value: Value) { receive(value) }
    }

    @MainActor final class Indicator {
        var isVisible = false { didSet { onChange(isVisible) } }
        private let onChange: (Bool) -> Void

        init(onChange: @escaping (Bool) -> Void) { self.onChange = onChange }
    }

    struct AppError: Error {
        let cause: RequestError

        init(_ cause: RequestError) { self.cause = cause }
    }

    static func seats(
        _ exporter: Sink<RequestTracing.Span>, _ meter: Sink<RequestMetrics.Measurement>, _ activity: ActivityCounter,
        print: @escaping @Sendable (RequestLogging.Entry) -> Void
    ) -> some RequestExecutor {
        let tracing = RequestTracing { span in exporter.add(span) }
        let executor = SocketExecutor()
            .observing(.attempts, by: RequestMetrics { meter.record($0) }, tracing)
            .decodingContent()
            .retrying()
            .observing(
                .calls, by: tracing, activity,
                RequestLogging { entry in print(entry) })
        return executor
    }

    static func logging(_ logger: Sink<String>) -> RequestLogging {
        let logging = RequestLogging(
            requests: .headers, responses: .everything
        ) { entry in
            logger.log("\(entry)")
        }
        return logging
    }

    static func reports(
        print: @escaping @Sendable (PreparedRequest, Duration, Any) -> Void
    ) -> some RequestExecutor {
        let reports = Observing.Reports()
        let executor = SocketExecutor().observing(.attempts, by: reports)
        reports.handler = { report in
            print(report.request, report.duration, report.phases as Any)
        }
        return executor
    }

    static func tracing(_ header: Header, _ github: Client<AnonymousRequestProvider>) async throws -> ArticleUser {
        try await TraceContext.withCurrent(
            TraceContext(header), baggage: TraceContext.Baggage(header)
        ) {
            try await github.perform(Users.me)
        }
    }

    static func activity(_ indicator: Indicator) -> ActivityCounter {
        let activity = ActivityCounter()
        activity.handler = { count in
            Task { @MainActor in indicator.isVisible = count > 0 }
        }
        return activity
    }

    static func interceptors(
        _ api: AnonymousRequestProvider, _ stamped: @escaping @Sendable (PreparedRequest) -> PreparedRequest
    ) -> (some RequestExecutor, Request<AnonymousRequestProvider, ArticleUser>) {
        typealias User = ArticleUser
        let executor = SocketExecutor().intercepted(
            by: RequestInterceptors()
                .onRequest { request in stamped(request) }
                .onError { error, request in throw AppError(error) })
        let request = api.get(.json(User.self), from: "/me").intercepted(
            by: RequestInterceptors().onResponse { response, _ in response })
        return (executor, request)
    }

    struct SlowRequests: Observing.Observer {
        func begin(
            _ observation: inout Observing.Observation
        ) -> Observing.Handler? {
            { event in
                guard case .end(let report) = event else { return }
                if report.duration > .seconds(1) { print(report.request) }
            }
        }
    }
}

enum OverviewArticle {
    static func standard(
        _ api: AnonymousRequestProvider, _ authenticator: FixedCredentials
    ) -> Client<AnonymousRequestProvider> {
        let client = Client(api, executor: SocketExecutor())
            .withStandardMiddleware {
                $0.authenticator = authenticator
                $0.cache = Caching()
                $0.cookies = CookieStore()
            }
        return client
    }

    static func all(
        _ api: AnonymousRequestProvider, _ authenticator: FixedCredentials, _ tracing: RequestTracing,
        _ logging: RequestLogging, _ metrics: RequestMetrics, _ signer: RequestSigner
    ) -> Client<AnonymousRequestProvider> {
        let client = Client(api, executor: SocketExecutor())
            .withStandardMiddleware {
                $0.callObservers = [tracing, logging]
                $0.cache = Caching()
                $0.authenticator = authenticator
                $0.retryPolicy = .standard
                $0.hedgingDelay = .milliseconds(500)
                $0.circuitBreaker = CircuitBreaker()
                $0.rateLimit = RateLimit(100, per: .seconds(1))
                $0.concurrencyLimit = ConcurrencyLimit(64, perOrigin: 8)
                $0.cookies = CookieStore()
                $0.coalescesRequests = true
                $0.memoryBudget = .shared
                $0.attemptObservers = [tracing, metrics]
                $0.signer = signer
            }
        return client
    }

    static func chain(_ authenticator: FixedCredentials, _ environment: RequestEnvironment) -> some RequestExecutor {
        let executor = SocketExecutor()
            .decodingContent()
            .keepingCookies()
            .resumingDownloads()
            .retrying()
            .authenticating(with: authenticator, within: environment)
            .caching()
        return executor
    }
}
