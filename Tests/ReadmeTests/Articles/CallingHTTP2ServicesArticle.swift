import RequestsSocket

enum CallingHTTP2ServicesArticle {
    struct Executors {
        func makeExecutor() -> SocketExecutor {
            var configuration = SocketExecutor.Configuration()
            configuration.httpVersion = .http2PriorKnowledge
            return SocketExecutor(configuration: configuration)
        }
    }

    // MARK: APNs

    enum APNs: RequestProviding {
        case production, sandbox

        var baseURL: URL {
            switch self {
            case .production: URL("https://api.push.apple.com")
            case .sandbox: URL("https://api.sandbox.push.apple.com")
            }
        }
    }

    struct Notification: Encodable, Sendable {
        struct APS: Encodable, Sendable {
            let alert: String
        }
        let aps: APS
    }

    struct Rejection: Decodable, Sendable {
        let reason: String
    }

    struct Push: Endpoint {
        let notification: Notification
        let device: String
        let topic: String
        let token: String

        func request(from api: APNs) -> Request<APNs, Void> {
            api.post(.json(notification), to: "/3/device/\(device)")
                .authenticated(with: .bearerToken(token))
                .adding(
                    headerFields: Field(name: "apns-topic", value: topic),
                    Field(name: "apns-push-type", value: "alert")
                )
                .decodingErrorPayload(as: Rejection.self)
        }
    }

    static func send(_ push: Push, with apns: Client<APNs>) async throws(RequestError) -> String? {
        do throws(RequestError) {
            let response = try await apns.response(for: push)
            return response.header["apns-id"]
        } catch {
            if let rejection = error.payload(as: Rejection.self) {
                print("rejected: \(rejection.reason)")
            }
            throw error
        }
    }

    // MARK: gRPC

    enum Greeter: RequestProviding {
        case production

        var baseURL: URL { URL("https://greeter.example.com") }

        func call(_ method: String, _ message: Data) -> Request<Greeter, Data> {
            let length = [24, 16, 8, 0].map { UInt8(message.count >> $0 & 0xFF) }
            let body = Data([0] + length) + message
            return post(
                .raw(data: body, contentType: "application/grpc"),
                to: RequestPath(method), receiving: .data
            )
            .adding(headerField: Field(name: "TE", value: "trailers"))
        }
    }

    struct GreeterError: Error {
        let status: String
        let message: String?
    }

    struct Calls {
        let greeter: Client<Greeter>

        func result(of method: String, _ message: Data) async throws -> Data {
            let request = greeter.api.call(method, message)
            let response = try await greeter.response(for: request)
            let end =
                response.trailers.contains("grpc-status")
                ? response.trailers : response.header
            guard let status = end["grpc-status"], status == "0" else {
                throw GreeterError(
                    status: end["grpc-status"] ?? "2", message: end["grpc-message"])
            }
            return response.value.dropFirst(5)
        }
    }
}
