import Dispatch
import RequestsSocket

func signing(
    _ executor: some RequestExecutor, with token: String
) -> some RequestExecutor {
    executor.intercepting { request, next in
        var request = request
        request.header[.authorization] = "Bearer \(token)"
        return try await next.execute(request)
    }
}

func found(_ title: String, in library: Client<Library>) async -> Book? {
    do throws(RequestError) {
        return try await library.perform(Books.titled(title))
    } catch {
        switch error.reason {
        case .unacceptableStatus where error.status == .notFound:
            print("no such book")
        case .timedOut(let phase): print("too slow: \(phase)")
        case .cancelled: break
        default: print(error)
        }
        return nil
    }
}

func titles(
    in library: Client<Library>, on queue: DispatchQueue
) throws(RequestError) -> RequestTask {
    // Blocks this thread until the call ends:
    let book = try library.performAndWait(Books.titled("Emma"))
    return library.perform(Books.titled(book.title), on: queue) { result in
        print(result.map(\.value.year))  // called exactly once, on the queue
    }
}
