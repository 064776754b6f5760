import RequestsMock
import RequestsSocket

// Calls to services of a second day: their media types, streams and errors. Each prints one line.

func services(_ github: Client<GitHub>) async throws {
    let id = 7
    let patch = try await github.perform {
        $0.patch(
            "/echo", with: .json(["id": .integer(id), "name": "x"], as: "application/merge-patch+json"),
            receiving: .text)
    }
    // A dictionary's members have no defined order.
    let members = patch.split(separator: "|").last?.count ?? 0
    report("26 a JSON body with a media type of its own", "\(patch.contains("merge-patch+json")), \(members) bytes")
    let prompt: JSONValue = ["stream": true, "messages": [["role": "user", "content": "Hi"]]]
    var answer = ""
    let events = try await github.perform {
        $0.post(.json(prompt), to: "/chat", receiving: .events(JSONValue.self, until: "[DONE]"))
    }
    for try await event in events { answer += event.value["choices", 0, "delta", "content"]?.string ?? "" }
    report("27 a chat completion", answer)
    let missing = await error { try await github.perform { $0.get(.json(User.self), from: "/users/none") } }
    report("28 the message of the server", missing.map { "\($0)".suffix(50) } ?? "")
}
