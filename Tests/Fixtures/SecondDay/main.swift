import Foundation
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer

// The tasks of a second day: a client for one call of each of several services. Each prints one line.

func report(_ service: String, _ result: Any) { print("\(service): \(result)") }

try await withTestServer(serving: routes) { server in
    let executor = SocketExecutor()
    let url = server.baseURL
    report("container registry", try await pushManifest(to: Client(Registry(baseURL: url), executor: executor)))
    report("language model", try await complete("Hi", with: Client(Model(baseURL: url), executor: executor)))
    report("calendar", try await calendars(of: Client(CalDAV(baseURL: url), executor: executor)))
    report("object store", try await store(Data("x".utf8), in: Client(S3(baseURL: url), executor: executor)))
    report("metrics", try await range(from: Client(Prometheus(baseURL: url), executor: executor)))
    report("database", try await item(from: Client(DynamoDB(baseURL: url), executor: executor)))
    report("notebook", try await rename(with: Client(Jupyter(baseURL: url), executor: executor)))
    report("token", try await token(from: url, over: executor))
    await report("busy service", busy(Client(Registry(baseURL: url), executor: executor)))
}
