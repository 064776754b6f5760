import Requests

/// Middleware that limits the memory of all bodies that are being collected at the same time.
///
/// ```swift
/// let executor = SocketExecutor().collecting(within: .shared)
/// ```
///
/// The limit of a request (64 MiB by default) bounds one body; a budget bounds the sum of all bodies. A body of known
/// length waits for its space before it is read, in the order of arrival, which also slows its sender. A body of
/// unknown length waits for its first 64 KiB. When the budget, or the half for its origin, is used up, it fails with
/// ``ProtectionError/memoryExhausted(budget:)``: if it waited, calls could wait for each other without end. A body that
/// is longer than the whole budget fails in the same way.
///
/// The bodies of one origin use at most half of the budget. A longer body is collected only while it is the only one of
/// its origin. To keep a slow origin from stopping the calls to others, use a budget of at least twice the requests'
/// limit.
///
/// The space of a body is free again when the response is returned. Streamed bodies and files need none. Use one budget
/// for all executors of a process, such as ``shared``. Add it directly after `decodingContent()`, so that it counts
/// decoded bodies, and before ``Coalescing``, which does not share the streams that this middleware requests.
public final class MemoryBudget: Middleware {
    /// The number of bytes.
    public let size: Int

    /// A budget of 256 MiB for the process.
    public static let shared = MemoryBudget(256 << 20)

    private let shares: Shares

    /// The number of bytes by which the space for a body of unknown length grows.
    private static let step = 64 << 10

    /// Creates a budget of `size` bytes; a number below 0 counts as 0.
    public init(_ size: Int) {
        self.size = max(0, size)
        shares = Shares(total: self.size, perOrigin: self.size / 2)
    }

    /// The number of bytes that are in use.
    public var used: Int { shares.used }

    /// Performs `request` with `next`, and collects its body within the budget.
    ///
    /// - Throws: The `RequestError` of `next` or of the body, one with ``ProtectionError/memoryExhausted(budget:)``, or
    ///   one for a deadline or a cancellation while it waits.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard case .collected(let limit) = request.delivery else { return try await next.execute(request) }
        var streamed = request
        streamed.delivery = .streamed
        var response = try await next.execute(streamed)
        guard case .stream(let stream) = response.body else { return response }
        if let drain = next.drain(of: response.head, to: request) {
            response.body = .bytes(try await stream.beginning(drain.limit))
            return response
        }
        do throws(RequestError) {
            response.body = .bytes(try await collect(stream, max(0, limit), for: request))
        } catch {
            throw error.adding(response: response.head)
        }
        response.trailers = stream.trailers
        if let metrics = stream.metrics { response.metrics = metrics }
        return response
    }

    private func collect(
        _ stream: ResponseStream, _ limit: Int, for request: PreparedRequest
    ) async throws(RequestError) -> Data {
        if let length = stream.length, length > limit { throw tooLarge(limit) }
        let space = try await space(stream.length ?? min(Self.step, limit, size), for: request)
        var body = Data()
        while let chunk = try await stream.next() {
            guard chunk.count <= limit - body.count else { throw tooLarge(limit) }
            let missing = body.count + chunk.count - space.count
            if missing > 0 {
                // The space grows in steps, so that small chunks do not use the lock.
                let step = max(missing, min(Self.step, limit - space.count))
                guard space.grow(by: step) || space.grow(by: missing) else { throw exhausted() }
            }
            body.append(chunk)
        }
        return body
    }

    private func space(_ count: Int, for request: PreparedRequest) async throws(RequestError) -> Shares.Share {
        guard count <= size else { throw exhausted() }
        switch await shares.share(of: count, to: request.originKey, until: request.limit) {
        case .granted(let space): return space
        case .timedOut: throw RequestError(.timedOut(.total))
        case .cancelled: throw RequestError(.cancelled)
        }
    }

    private func tooLarge(_ limit: Int) -> RequestError {
        RequestError(.tooLarge(limit: limit), detail: "the body is longer than \(ErrorText.bytes(limit))")
    }

    private func exhausted() -> RequestError {
        let error = ProtectionError.memoryExhausted(budget: size)
        return RequestError(.other, detail: error.description, underlying: error)
    }
}

extension ResponseStream {
    /// Returns at most the first `count` bytes; an error that does not end the call ends the bytes (decision 0021).
    fileprivate func beginning(_ count: Int) async throws(RequestError) -> Data {
        var bytes = Data()
        while bytes.count < count {
            do throws(RequestError) {
                guard let chunk = try await next() else { break }
                bytes.append(chunk.prefix(count - bytes.count))
            } catch {
                guard !error.endsCall else { throw error }
                break
            }
        }
        return bytes
    }
}

extension RequestExecutor {
    /// Returns this executor with a limit on the memory of all bodies that are being collected at the same time.
    public func collecting(within budget: MemoryBudget) -> Intercepted {
        intercepted(by: budget)
    }
}
