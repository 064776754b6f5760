extension CacheExchange {
    /// A request as the cache compares it: its URI, userinfo, caller, use of cookies, and fields except for trace
    /// context.
    struct Identity: Hashable, Sendable {
        private let exchange: CacheExchange

        init(_ exchange: CacheExchange) {
            self.exchange = exchange
        }

        static func == (left: Self, right: Self) -> Bool {
            left.exchange === right.exchange || left.exchange.isIdentical(to: right.exchange)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(exchange.key)
            for field in exchange.request.header where !field.name.isTraceContext { hasher.combine(field) }
        }
    }

    private func isIdentical(to other: CacheExchange) -> Bool {
        key == other.key && comparedHeader == other.comparedHeader
            && request.target.userinfo.hasSameBytes(as: other.request.target.userinfo)
            && request.declinesCookies == other.request.declinesCookies && caller == other.caller
    }

    private var comparedHeader: Header {
        var header = request.header
        header.removeAll(where: \.name.isTraceContext)
        return header
    }
}
