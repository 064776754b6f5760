import ManyEndpoints
import Requests
import Testing

@Suite("Endpoints at scale")
struct ManyEndpointsTests {
    @Test("an API of 300 endpoints in 30 enums compiles and prepares its requests")
    func describes() throws {
        let requests = try manyRequests(of: Service(baseURL: URL("https://e.com")))
        #expect(requests.count == 300)
        #expect(Set(requests.map { "\($0.method) \($0.pathTemplate) \($0.target.query ?? "")" }).count > 200)
    }
}
