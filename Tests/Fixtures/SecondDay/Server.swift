import RequestsMock
import RequestsXML

/// Returns the JSON that a request has sent; null if it is not JSON.
func json(of request: PreparedRequest) async throws -> JSONValue {
    guard case .bytes(let data) = try await request.body.collected() else { return .null }
    return (try? JSONValue(parsing: data)) ?? .null
}

/// The services, as a table of routes that check what they receive.
let routes = MockExecutor(
    routes: .on(.put, "/v2/app/manifests/1.0") { request in
        .status(request.header.contentType == "application/vnd.oci.image.manifest.v1+json" ? 201 : 415)
    },
    .on(.get, "/v2/app/manifests/1.0") { request in
        let type = "application/vnd.oci.image.manifest.v1+json"
        let body = #"{"schemaVersion": 2, "mediaType": "\#(type)", "layers": ["sha256:a"]}"#
        let isAccepted = request.header[.accept] == type
        return .ok(isAccepted ? body : "", contentType: "application/vnd.oci.image.manifest.v1+json")
    },
    .on(
        .get, "/v2/app/manifests/2.0",
        .status(
            404, #"{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}"#, contentType: .json)),
    .on(.post, "/chat/completions") { request in
        let prompt = try await json(of: request)["messages", 0, "content"]?.string ?? ""
        let words = [prompt, ", ", "there"].map { #"data: {"choices": [{"delta": {"content": "\#($0)"}}]}"# }
        return .ok((words + ["data: [DONE]"]).joined(separator: "\n\n") + "\n\n", contentType: "text/event-stream")
    },
    .on("PROPFIND", "/calendars/ada") { request in
        guard case .bytes(let data) = try await request.body.collected(), request.header["Depth"] == "1",
            try XMLValue(parsing: data)["prop", "displayname"] != nil
        else { return .status(400) }
        let names = ["Home", "Work"].map { name in
            XMLValue("d:response") {
                XMLValue("d:propstat") { XMLValue("d:prop") { XMLValue("d:displayname") { name } } }
            }
        }
        let body = XMLValue("d:multistatus", namespace: "DAV:") { for name in names { name } }
        return .status(207, "\(body)", contentType: "application/xml")
    },
    .on(.put, "/b/2026/caf%C3%A9.txt") { request in
        .status(request.header[.authorization]?.contains("AWS4-HMAC-SHA256") == true ? 200 : 403)
    },
    .on(
        .get, "/b/2026/caf%C3%A9.txt",
        .status(403, "<Error><Code>AccessDenied</Code></Error>", contentType: "application/xml")),
    .on(.get, "/api/v1/query_range") { request in
        .ok(#"{"data": {"result": [{"value": "\#(request.target.query ?? "")"}]}}"#, contentType: .json)
    },
    .on(.post, "/") { request in
        let id = try await json(of: request)["Key", "id", "S"]?.string ?? ""
        let target = request.header["X-Amz-Target"] ?? ""
        return .ok(#"{"Item": {"name": {"S": "\#(id) by \#(target)"}}}"#, contentType: "application/x-amz-json-1.0")
    },
    .on(.patch, "/api/contents/old.ipynb") { request in
        .ok(try await json(of: request)["path"]?.string ?? "")
    },
    .on(
        .post, "/token",
        .ok(#"{"access_token": "t1", "token_type": "Bearer", "expires_in": 3600}"#, contentType: .json)),
    .on(.get, "/account") { request in .ok(request.header[.authorization] ?? "anonymous") },
    .on(.get, "/busy", .status(503)))
