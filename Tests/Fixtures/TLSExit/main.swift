// This program ends while its threads use OpenSSL for connections and hashes; the tests run it many times. Its exit
// status is 0 unless a signal ends it.
// With a path as an argument, the libcurl there initializes OpenSSL first, which registers OpenSSL's exit handler.
import CRequestsPOSIX
import CRequestsTest
import Requests
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import Synchronization

/// The number of connections so far.
let connections = Atomic(0)
/// The number of completed calls of ``hash(_:)``.
let hashes = Atomic(0)

/// Connects, and sends data in both directions.
@Sendable func connect(_ client: TLSContext, _ server: TLSContext, _ reactor: Reactor) throws {
    let channels = try Socket.Pair().apart { first, second in
        (Channel(first, reactor: reactor), Channel(second, reactor: reactor))
    }
    let near = try TLSStream(client, over: channels.0, to: TLSServerName("a.test"))
    let far = try TLSStream(server: server, over: channels.1)
    var isDone = (near: false, far: false)
    while !isDone.near || !isDone.far {
        if !isDone.near { isDone.near = try near.handshake() == nil }
        if !isDone.far { isDone.far = try far.handshake() == nil }
    }
    connections.add(1, ordering: .relaxed)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 1)
    for _ in 0..<20 {
        _ = try near.write(UnsafeRawBufferPointer(memory))
        _ = try far.read(into: memory)
    }
}

/// Computes one hash of each kind.
@Sendable func hash(_ data: Data) throws {
    _ = try SystemHashes.shared.digest(of: data, with: .sha256)
    _ = try SystemHashes.shared.authenticationCode(of: data, key: data, with: .sha512t256)
    let hash = try SystemHashes.shared.makeHash(with: .sha1)
    try hash.update(data)
    _ = try hash.finish()
    hashes.add(1, ordering: .relaxed)
}

/// Lets a libcurl initialize its libraries.
func initialize(_ libcurl: String) {
    typealias Initialize = @convention(c) (Int) -> Int32
    guard let library = dlopen(libcurl, RTLD_NOW), let function = dlsym(library, "curl_global_init") else { exit(3) }
    let everything = 3
    // The function's type is declared in curl.h.
    guard unsafeBitCast(function, to: Initialize.self)(everything) == 0 else { exit(3) }
}

if CommandLine.arguments.count > 1 { initialize(CommandLine.arguments[1]) }
// With “fork” as a second argument, a child exits while its threads compute hashes, and this process reports its
// failure.
if CommandLine.arguments.dropFirst(2).first == "fork" {
    try hash(Data())
    let child = rp_fork(60, false)
    guard child == 0 else { exit(rp_wait_for_child(child, 60) == 0 ? 0 : 4) }
    for _ in 0..<8 {
        try DetachedThread.start(named: "hashes") {
            while true { try? hash(Data(repeating: 1, count: 4 << 10)) }
        }
    }
    // The parent has computed the first one.
    while hashes.load(ordering: .relaxed) < 9 { DetachedThread.yield() }
    exit(0)
}
let root = try CertificateMaker.authority("Root").make(CertificateKey(.p256))
let leaf = try CertificateMaker("a.test", names: [.dns("a.test")]).make(CertificateKey(.p256), signedBy: root)
let client = TLSContext(client: TLSConfiguration(trust: .certificates(root.pem)))
let server = TLSContext(server: TLSServerConfiguration(identity: try leaf.identity()))
let reactor = try Reactor()
for _ in 0..<16 {
    try DetachedThread.start(named: "connections") {
        while true { try? connect(client, server, reactor) }
    }
}
for _ in 0..<4 {
    try DetachedThread.start(named: "hashes") {
        while true { try? hash(Data(repeating: 1, count: 4 << 10)) }
    }
}
while connections.load(ordering: .relaxed) < 8 { DetachedThread.yield() }
exit(0)
