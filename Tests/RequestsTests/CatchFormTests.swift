// swift-format-ignore-file: NeverForceUnwrap
import Requests
import Testing

// The Swift 6.3.1 compiler crashes on a function that contains `!` or a call of a function that never
// returns, if every `catch` around a call with typed throws has a condition. These are the forms of the article
// “Getting started” that it compiles; the functions contain both on purpose, so building this file is the test.

private let api = AnonymousRequestProvider.example

private func client(_ status: HTTPStatus) -> Client<AnonymousRequestProvider> {
    Client(api, executor: StubExecutor(status, header: [Field(name: .contentType, value: "text/plain")], "found"))
}

/// The form of the article: a typed `do`, and a guard in the only `catch`.
private func guarded(_ client: Client<AnonymousRequestProvider>, _ path: String?) async throws(RequestError) -> String?
{
    guard let path else { fatalError("no path") }
    do throws(RequestError) {
        return try await client.perform { $0.get(.text, from: RequestPath(path.isEmpty ? "/" : Optional(path)!)) }
    } catch {
        guard error.status == 404 else { throw error }
        return nil
    }
}

/// Conditions before a `catch` without one.
private func conditional(_ client: Client<AnonymousRequestProvider>, _ path: String?) async throws -> String? {
    guard let path else { fatalError("no path") }
    do {
        return try await client.perform { $0.get(.text, from: RequestPath(Optional(path)!)) }
    } catch let error where error.status == 404 {
        return nil
    } catch {
        throw error
    }
}

/// Conditions in a typed `do` before a `catch` without one.
private func typedConditional(
    _ client: Client<AnonymousRequestProvider>, _ path: String?
) async throws(RequestError) -> String? {
    guard let path else { fatalError("no path") }
    do throws(RequestError) {
        return try await client.perform { $0.get(.text, from: RequestPath(Optional(path)!)) }
    } catch  where error.status == 404 {
        return nil
    } catch {
        throw error
    }
}

@Suite("Forms of catching errors")
struct CatchFormTests {
    @Test("the forms of the article compile in functions with force unwraps, and catch only the 404")
    func forms() async throws {
        #expect(try await guarded(client(200), "/") == "found")
        #expect(try await guarded(client(404), "/") == nil)
        #expect(try await conditional(client(200), "/") == "found")
        #expect(try await conditional(client(404), "/") == nil)
        #expect(try await typedConditional(client(200), "/") == "found")
        #expect(try await typedConditional(client(404), "/") == nil)
        for form in [guarded, conditional, typedConditional]
            as [(Client<AnonymousRequestProvider>, String?) async throws -> String?]
        {
            let error = await #expect(throws: RequestError.self) { try await form(client(500), "/") }
            #expect(error?.status == 500)
        }
    }
}
