internal import RequestsMiddleware
internal import ServerStandIns

import enum Requests.JSONValue
import struct Requests.MediaType
import protocol Requests.RequestProviding

// Code of an app that imports a framework for servers, in which several names occur twice.

nonisolated struct GitHub: RequestProviding {
    let baseURL: URL
}

struct Repositories {
    let github: Requests.Client<GitHub>
    let middleware: [any Requests.Middleware]

    func request(_ name: String) -> Requests.Request<GitHub, JSONValue> {
        github.api.get(.json(), from: "/repos/\(name)")
    }
}

func isImage(_ type: MediaType) -> Bool { type == .png }
