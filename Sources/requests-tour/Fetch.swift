import Requests

/// A GET request to one URL, and the layout of its response: the wire text, the head and the beginning of the body.
struct Fetch {
    let style: Style
    let executor: any RequestExecutor

    func report(on url: URL) async throws(RequestError) -> String {
        let request = Request(method: .get, baseURL: url).receiving(.data).validating(.none)
        let wireText = try request.prepared().wireText
        let start = ContinuousClock.now
        let response = try await executor.response(for: request)
        let duration = ContinuousClock.now - start
        let head = (["\(response.status)"] + response.header.map(\.description)).joined(separator: "\n")
        return """
            \(style.dim(wireText))\(style.bold(head))

            \(text(of: response.value))
            \(style.dim("\(response.value.count) bytes in \(Int(duration / .microseconds(1))) µs, \(response.url)"))
            """
    }

    private func text(of body: Data) -> String {
        guard let text = String(validating: body.prefix(4096), as: UTF8.self) else { return "<\(body.count) bytes>" }
        return body.count > 4096 ? text + "\n…" : text
    }
}
