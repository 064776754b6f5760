import Dispatch
import Requests

/// One stop of the tour: what it shows, how it is described, and what becomes of it.
struct Stop: Sendable {
    let title: String
    let prepare: @Sendable (Client<Observatory>) throws(RequestError) -> PreparedRequest
    let visit: @Sendable (Client<Observatory>) async throws(RequestError) -> String

    /// A stop that performs `endpoint` and shows its value with `show`.
    init<E: Endpoint>(
        _ title: String, _ endpoint: E, show: @escaping @Sendable (E.Resource) async throws(RequestError) -> String
    ) where E.API == Observatory {
        self.title = title
        prepare = { client throws(RequestError) in try client.prepared(endpoint) }
        visit = { client async throws(RequestError) in try await show(client.perform(endpoint)) }
    }

    /// A stop whose endpoint is answered with an error, which is shown.
    init<E: Endpoint>(failing title: String, _ endpoint: E) where E.API == Observatory {
        self.title = title
        prepare = { client throws(RequestError) in try client.prepared(endpoint) }
        visit = { client async throws(RequestError) in
            do throws(RequestError) {
                _ = try await client.perform(endpoint)
                return "an answer where an error was expected"
            } catch {
                let body = error.body.map { String(decoding: $0, as: UTF8.self) } ?? "no body"
                return "\(error), and the answer said “\(body)”"
            }
        }
    }

    /// A stop that performs `endpoint` three times: awaited, with a completion, and on a thread that waits.
    init<E: Endpoint>(faces title: String, _ endpoint: E)
    where E.API == Observatory, E.Resource: Equatable & Sendable {
        self.title = title
        prepare = { client throws(RequestError) in try client.prepared(endpoint) }
        visit = { client async throws(RequestError) in
            let awaited = try await client.perform(endpoint)
            let completed = await withCheckedContinuation { continuation in
                client.perform(endpoint, on: Self.queue) { continuation.resume(returning: $0) }
            }
            let waited = await withCheckedContinuation { continuation in
                // A queue's thread may be blocked; one that all tasks share had better not.
                Self.queue.async { continuation.resume(returning: client.resultAndWait(for: endpoint)) }
            }
            let agree = try [completed.get().value, waited.get().value].allSatisfy { $0 == awaited }
            return agree ? "awaited, with a completion and on a waiting thread: \(awaited)" : "three different answers"
        }
    }

    private static let queue = DispatchQueue(label: "tour.faces")
}

extension Stop {
    /// The tour, in its order; downloads go into `folder`.
    static func all(savingInto folder: String) -> [Stop] {
        [
            Stop("A query, and an array of JSON objects", Call.bodies(nearerThan: 6)) { bodies in
                "\(bodies.count) bodies: " + bodies.map(\.name).joined(separator: ", ")
            },
            Stop("A path value that must not leave its segment", Bodies.comet) { "\($0)" },
            Stop("A JSON body and a bearer token", Call.record(sighting, token: ObservatoryServer.token)) { "\($0)" },
            Stop("Basic credentials", Call.whoAmI(name: "vera", password: ObservatoryServer.password)) { $0.name },
            Stop("Plain text", Call.motto) { "“\($0)”" },
            Stop("A redirect, followed by policy", Bodies.moved) { "\($0)" },
            Stop(failing: "An error answer, with its evidence", Bodies.missing),
            Stop("A streamed answer, line by line", Call.log) { lines throws(RequestError) in
                var years: [Substring] = []
                for try await line in lines { years.append(line.prefix(4)) }
                return "\(years.count) lines, from \(years.first ?? "?") to \(years.last ?? "?")"
            },
            Stop("A download to a file", Call.image(savingTo: folder + "/saturn.png")) { url throws(RequestError) in
                let image = try RequestError.wrapping(.other) { try Data(contentsOf: url) }
                let isPNG = image.starts(with: [0x89, 0x50, 0x4E, 0x47])
                return "\(url.lastPathComponent), \(image.count) bytes, \(isPNG ? "a PNG image" : "no image")"
            },
            Stop("No content at all", Call.forget(1)) { "done" },
            Stop(faces: "One call, three ways to wait for it", Bodies.comet),
        ]
    }

    private static let sighting = Observation(body: "Saturn", note: "The rings are tilted 4° tonight.")
}
