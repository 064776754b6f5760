// swift-tools-version: 6.3
import PackageDescription

// CI sets it; whoever depends on this package is not bothered by a newer compiler's warnings.
let isStrict = Context.environment["REQUESTS_STRICT"] != nil

// CI sets it for the thread sanitizer, which needs the tests of concurrent code only and makes builds slow.
let isInstrumented = Context.environment["REQUESTS_INSTRUMENTED"] != nil

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (isStrict ? [.treatAllWarnings(as: .error)] : [])

/// Returns a target below `Sources`.
func target(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// Returns a program below `Sources`, or at `path`.
func program(
    _ name: String, _ dependencies: [Target.Dependency], at path: String? = nil, resources: [Resource]? = nil,
    _ more: [SwiftSetting] = []
) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: path, resources: resources, swiftSettings: settings + more)
}

/// Returns a target that only tests use, at `Tests/` and its name or `path`.
func support(
    _ name: String, _ dependencies: [Target.Dependency], at path: String? = nil, _ more: [SwiftSetting] = []
) -> Target {
    .target(name: name, dependencies: dependencies, path: path ?? "Tests/\(name)", swiftSettings: settings + more)
}

/// Returns a test target, which also depends on `TestSupport`.
func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["TestSupport"], exclude: exclude, swiftSettings: settings)
}

// MARK: Libraries

// Apple's stores require a manifest of the file functions that a library calls; Linux has no use for it.
let privacyManifest = "PrivacyInfo.xcprivacy"
#if os(Linux)
let privacyResources: [Resource] = []
let privacyExclusions = [privacyManifest]
#else
let privacyResources: [Resource] = [.copy(privacyManifest)]
let privacyExclusions: [String] = []
#endif

let libraries = [
    target("Requests", ["CRequestsClock"]),
    target("RequestsFoundation", ["Requests"]),
    target("RequestsMiddleware", ["Requests", "RequestsPOSIX"]),
    target("RequestsMock", ["Requests", "RequestsPOSIX"]),
    target("RequestsSocket", ["Requests", "RequestsHTTP1", "RequestsHTTP2", "RequestsPOSIX", "RequestsTLS"]),
    target("RequestsURLSession", ["Requests", "RequestsFoundation", "RequestsPOSIX"]),
    target("RequestsXML", ["Requests"]),
    target(
        "RequestsTestServer",
        ["CRequestsTest", "Requests", "RequestsHTTP1", "RequestsHTTP2", "RequestsPOSIX", "RequestsTLS"]),
    target("RequestsConformance", ["Requests", "RequestsMock", "RequestsTestServer"]),
]

/// What the libraries share, and no product exports.
let foundations: [Target] = [
    target("RequestsHTTP1", ["Requests"]),
    target("RequestsHTTP2", ["Requests"]),
    .target(
        name: "RequestsPOSIX", dependencies: ["Requests", "CRequestsPOSIX"], exclude: privacyExclusions,
        resources: privacyResources, swiftSettings: settings),
    target("RequestsTLS", ["CRequestsPOSIX", "Requests", "RequestsPOSIX"]),
    .systemLibrary(name: "CRequestsClock"),
    .systemLibrary(name: "CRequestsPOSIX"),
    .systemLibrary(name: "CRequestsTest"),
]

// MARK: Programs of this repository

let programs = [
    program(
        "requests-tour",
        [
            "Requests", "RequestsMiddleware", "RequestsMock", "RequestsPOSIX", "RequestsSocket", "RequestsTestServer",
            "RequestsURLSession",
        ],
        resources: [
            .embedInCode("Data/bodies.json"), .embedInCode("Data/log.txt"), .embedInCode("Data/saturn.png"),
        ]),
    program(
        "requests-bench",
        [
            "Requests", "RequestsBench", "RequestsFoundation", "RequestsHTTP1", "RequestsMiddleware", "RequestsMock",
            "RequestsPOSIX", "RequestsSocket", "RequestsTestServer", "RequestsURLSession",
        ]),
    program("requests-bench-client", ["RequestsBench", "RequestsPOSIX"]),
    target("RequestsBench", ["Requests", "RequestsPOSIX", "RequestsSocket"]),
]

// MARK: Tests

/// Programs and libraries as users write them, which tests build and run.
let fixtures = [
    program("requests-blocking-only", ["RequestsSocket"], at: "Tests/Fixtures/BlockingOnly"),
    program(
        "requests-first-day", ["RequestsMiddleware", "RequestsMock", "RequestsSocket", "RequestsTestServer"],
        at: "Tests/Fixtures/FirstDay"),
    program(
        "requests-second-day",
        ["RequestsMiddleware", "RequestsMock", "RequestsSocket", "RequestsTestServer", "RequestsXML"],
        at: "Tests/Fixtures/SecondDay"),
    program(
        "requests-main-actor-app", ["RequestsSocket"], at: "Tests/Fixtures/MainActorApp",
        [.defaultIsolation(MainActor.self)]),
    program("requests-readme-program", ["RequestsSocket"], at: "Tests/Fixtures/ReadmeProgram"),
    program("requests-socket-only", ["RequestsSocket"], at: "Tests/Fixtures/SocketOnly"),
    program(
        "requests-tls-exit",
        ["CRequestsPOSIX", "CRequestsTest", "Requests", "RequestsPOSIX", "RequestsTLS", "RequestsTestServer"],
        at: "Tests/Fixtures/TLSExit"),
    support(
        "Adaptors", ["PackageStandIns", "RequestsMiddleware", "RequestsSocket", "ServerStandIns"],
        at: "Tests/Fixtures/Adaptors", [.defaultIsolation(MainActor.self)]),
    support("PackageStandIns", ["Requests"], at: "Tests/Fixtures/PackageStandIns"),
    support("ManyEndpoints", ["Requests"], at: "Tests/Fixtures/ManyEndpoints"),
    support("ServerStandIns", [], at: "Tests/Fixtures/ServerStandIns"),
    support("TestCorpora", ["Requests"]),
    support("TestSupport", ["CRequestsPOSIX", "CRequestsTest", "Requests", "RequestsPOSIX", "RequestsTLS"]),
]

let testTargets = [
    tests(
        "EndToEndTests",
        [
            "ManyEndpoints", "requests-blocking-only", "requests-first-day", "requests-main-actor-app",
            "requests-second-day", "requests-tour", "RequestsMiddleware", "RequestsMock", "RequestsSocket",
            "RequestsTestServer",
        ],
        exclude: ["tour.golden.txt"]),
    tests("HouseTests", ["requests-socket-only", "requests-readme-program"]),
    tests(
        "ReadmeTests",
        [
            "RequestsMiddleware", "RequestsMock", "RequestsSocket", "RequestsTestServer", "RequestsURLSession",
            "RequestsXML",
        ]),
    tests(
        "RequestsConformanceTests",
        ["RequestsConformance", "RequestsMiddleware", "RequestsMock", "RequestsSocket", "TestCorpora"]),
    tests("RequestsFoundationTests", ["RequestsFoundation", "Requests", "RequestsMock"]),
    tests("RequestsHTTP1Tests", ["RequestsHTTP1", "Requests", "TestCorpora"]),
    tests("RequestsHTTP2Tests", ["RequestsHTTP2", "Requests", "TestCorpora"]),
    tests(
        "RequestsMiddlewareTests",
        [
            "Adaptors", "CRequestsPOSIX", "CRequestsTest", "PackageStandIns", "RequestsFoundation",
            "RequestsMiddleware", "RequestsMock", "RequestsPOSIX", "RequestsSocket", "RequestsTestServer",
            "RequestsURLSession", "TestCorpora",
        ]),
    tests("RequestsMockTests", ["RequestsMock", "RequestsPOSIX", "TestCorpora"], exclude: ["feeds.txt"]),
    tests("RequestsPOSIXTests", ["CRequestsPOSIX", "CRequestsTest", "RequestsPOSIX"]),
    tests(
        "RequestsSocketTests",
        [
            "Adaptors", "CRequestsPOSIX", "CRequestsTest", "PackageStandIns", "RequestsMiddleware", "RequestsMock",
            "RequestsSocket", "RequestsHTTP1", "RequestsHTTP2", "RequestsPOSIX", "RequestsTLS", "RequestsTestServer",
            "TestCorpora",
        ]),
    tests(
        "RequestsTLSTests",
        [
            "CRequestsPOSIX", "Requests", "RequestsPOSIX", "RequestsTLS", "RequestsTestServer", "TestCorpora",
            "requests-tls-exit",
        ]),
    tests(
        "RequestsTestServerTests",
        ["RequestsTestServer", "RequestsMock", "RequestsHTTP1", "RequestsHTTP2", "RequestsPOSIX", "TestCorpora"]),
    tests("RequestsTests", ["Requests", "RequestsMock", "TestCorpora"]),
    tests(
        "RequestsURLSessionTests",
        [
            "RequestsURLSession", "RequestsConformance", "RequestsPOSIX", "RequestsTLS", "RequestsTestServer",
            "TestCorpora",
        ]),
    tests("RequestsXMLTests", ["RequestsXML", "TestCorpora"]),
    // The README of Requests 0.3.2, in both language modes and with the settings of a user.
    .testTarget(
        name: "ReadmeV032Mode5Tests", dependencies: ["RequestsURLSession", "Requests", "TestSupport"],
        swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(
        name: "ReadmeV032Mode6Tests", dependencies: ["RequestsURLSession", "Requests", "TestSupport"],
        swiftSettings: [.swiftLanguageMode(.v6)]),
]

/// The tests of sequential code, and what only they use.
let uninstrumented = [
    "EndToEndTests", "HouseTests", "ManyEndpoints", "ReadmeTests", "ReadmeV032Mode5Tests", "ReadmeV032Mode6Tests",
    "RequestsFoundationTests", "RequestsHTTP1Tests", "RequestsHTTP2Tests", "RequestsURLSessionTests",
    "RequestsXMLTests", "requests-blocking-only", "requests-first-day", "requests-main-actor-app",
    "requests-readme-program", "requests-second-day", "requests-socket-only",
]

let package = Package(
    name: "Requests",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: libraries.map { .library(name: $0.name, targets: [$0.name]) },
    targets: libraries + foundations + (isInstrumented ? [] : programs)
        + (fixtures + testTargets).filter { !isInstrumented || !uninstrumented.contains($0.name) },
    swiftLanguageModes: [.v6]
)
