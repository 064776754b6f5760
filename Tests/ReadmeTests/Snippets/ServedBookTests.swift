import RequestsMock
import RequestsSocket
import RequestsTestServer
import Testing

@Test func servedBook() async throws {
    let emma = try MockResponse.json(Book(title: "Emma", year: 1815))
    let routes = MockExecutor(
        routes: .on(.get, "/api/books/{}", emma),
        .on(.delete, "/api/books/{}", .status(204)))
    try await withTestServer(serving: routes) { server in
        let served = AnonymousRequestProvider(baseURL: server.baseURL)
        let book = try await SocketExecutor().perform(
            served.get(.json(Book.self), from: "/api/books/Emma"))
        #expect(book.year == 1815)
    }
}
