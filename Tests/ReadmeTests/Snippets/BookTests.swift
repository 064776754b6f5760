import RequestsMock
import Testing

@Test func titledBook() async throws {
    let mock = MockExecutor()
    let eitherOr = Book(title: "Either/Or", year: 1843)
    mock.on(Books.titled("Either/Or"), return: eitherOr)
    let library = Client(Library.local, executor: mock)

    let book = try await library.perform(Books.titled("Either/Or"))
    #expect(book.year == 1843)
    try mock.verify()  // every stub was used, every request matched

    // Nothing is sent:
    try library.assertWire(
        Books.titled("Emma"),
        matches: """
            GET /api/books/Emma HTTP/1.1
            Host: 127.0.0.1:8080
            Accept: application/json
            """)
}
