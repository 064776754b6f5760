import RequestsSocket
import RequestsTestServer

// The client of nine lines posts to a server that supports only HTTP/2, such as a push notification service.

let routes = TestServer.Routes()
routes.on(.post, "/device") { .text("received \(String(decoding: $0.body, as: UTF8.self))") }

try await withTestServer(serving: routes, using: .http2) { server in
    print(try await push("hello", to: server.baseURL))
    do {
        _ = try await SocketExecutor().perform(AnonymousRequestProvider(baseURL: server.baseURL).get(.text, from: "/"))
        fatalError("the server supports HTTP/1.1")
    } catch {
        print("HTTP/1.1: \(error)")
    }
}
