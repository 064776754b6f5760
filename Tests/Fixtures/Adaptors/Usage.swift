internal import PackageStandIns
internal import RequestsMiddleware
internal import RequestsSocket

// The lines of the article that use its declarations.

func logging(_ executor: SocketExecutor, to logger: Logger) -> Intercepted {
    executor.observing(.calls, by: RequestLogging(logger))
}

func measuring() -> Intercepted {
    let recorder = MeasurementRecorder()
    let executor = SocketExecutor()
        .observing(.attempts, by: RequestMetrics { recorder.record($0) })
    return executor
}

func recordConnections(of executor: Intercepted, by recorder: MeasurementRecorder) {
    for measurement in RequestMetrics.connections(of: executor) {
        recorder.record(measurement)
    }
}

func tracing(by tracer: any Tracer) -> Intercepted {
    let recorder = TracerRecorder(tracer: tracer)
    let executor = SocketExecutor()
        .observing(.attempts, by: RequestTracing(recorder: recorder))
    return executor
}

nonisolated struct Signer: Sendable {
    func sign(_ head: inout HTTPRequest) throws {}
}

func signing(with signer: Signer) -> Intercepted {
    let signing = RequestInterceptors().onRequest { request in
        var request = request
        var head = try HTTPRequest(request)
        try signer.sign(&head)
        try request.setHead(head)
        return request
    }
    let executor = SocketExecutor().intercepted(by: signing)
    return executor
}

/// The client that a generator creates.
struct Client {
    let serverURL: URL
    let transport: any ClientTransport
}

func generated(_ url: URL) -> Client {
    let client = Client(
        serverURL: url,
        transport: RequestsTransport(executor: SocketExecutor().retrying()))
    return client
}

func services(_ executor: SocketExecutor, _ server: any Service, _ logger: Logger) -> ServiceGroup {
    let group = ServiceGroup(
        services: [RequestsService(executor: executor), server],
        gracefulShutdownSignals: [.sigterm], logger: logger)
    return group
}
