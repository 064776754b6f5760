import RequestsSocket

let api = AnonymousRequestProvider("http://127.0.0.1:8080")
print(try await SocketExecutor().perform(api.get(.text, from: "/motto")))
