// swift-tools-version: 6.3
import PackageDescription

var settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
// CI sets it; whoever depends on this package is not bothered by a newer compiler's warnings.
if Context.environment["REQUESTS_STRICT"] != nil { settings.append(.treatAllWarnings(as: .error)) }

let package = Package(
    name: "Requests",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Requests", targets: ["Requests"]),
        .library(name: "RequestsMock", targets: ["RequestsMock"]),
        .library(name: "RequestsSocket", targets: ["RequestsSocket"]),
        .library(name: "RequestsURLSession", targets: ["RequestsURLSession"]),
        .library(name: "RequestsFoundation", targets: ["RequestsFoundation"]),
        .library(name: "RequestsXML", targets: ["RequestsXML"]),
        .library(name: "RequestsMiddleware", targets: ["RequestsMiddleware"]),
        .library(name: "RequestsTestServer", targets: ["RequestsTestServer"]),
        .library(name: "RequestsConformance", targets: ["RequestsConformance"]),
    ],
    targets: [
        .target(name: "Requests", swiftSettings: settings),
        .target(name: "RequestsFoundation", dependencies: ["Requests"], swiftSettings: settings),
        .target(
            name: "RequestsURLSession",
            dependencies: ["Requests", "RequestsFoundation", "RequestsPOSIX"],
            swiftSettings: settings),
        .target(
            name: "RequestsMiddleware", dependencies: ["Requests", "RequestsPOSIX"], swiftSettings: settings),
        .target(name: "RequestsXML", dependencies: ["Requests"], swiftSettings: settings),
        .target(name: "RequestsHTTP1", dependencies: ["Requests"], swiftSettings: settings),
        .systemLibrary(name: "CRequestsPOSIX"),
        .target(name: "RequestsPOSIX", dependencies: ["Requests", "CRequestsPOSIX"], swiftSettings: settings),
        .target(
            name: "RequestsSocket",
            dependencies: ["Requests", "RequestsHTTP1", "RequestsPOSIX"],
            swiftSettings: settings),
        .target(name: "RequestsMock", dependencies: ["Requests"], swiftSettings: settings),
        .target(
            name: "RequestsTestServer", dependencies: ["Requests", "RequestsHTTP1", "RequestsPOSIX"],
            swiftSettings: settings),
        .executableTarget(
            name: "requests-tour",
            dependencies: [
                "Requests", "RequestsMiddleware", "RequestsMock", "RequestsPOSIX", "RequestsSocket",
                "RequestsTestServer", "RequestsURLSession",
            ],
            resources: [
                .embedInCode("Data/bodies.json"), .embedInCode("Data/log.txt"), .embedInCode("Data/saturn.png"),
            ], swiftSettings: settings),
        .target(
            name: "RequestsBench", dependencies: ["Requests", "RequestsPOSIX", "RequestsSocket"],
            swiftSettings: settings),
        .executableTarget(
            name: "requests-bench-client", dependencies: ["RequestsBench", "RequestsPOSIX"], swiftSettings: settings),
        .executableTarget(
            name: "requests-bench",
            dependencies: [
                "Requests", "RequestsBench", "RequestsFoundation", "RequestsHTTP1", "RequestsMock", "RequestsPOSIX",
                "RequestsSocket", "RequestsTestServer", "RequestsURLSession",
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "requests-socket-only", dependencies: ["RequestsSocket"], path: "Tests/Fixtures/SocketOnly",
            swiftSettings: settings),
        .executableTarget(
            name: "requests-readme-program", dependencies: ["RequestsSocket"], path: "Tests/Fixtures/ReadmeProgram",
            swiftSettings: settings),
        .executableTarget(
            name: "requests-blocking-only", dependencies: ["RequestsSocket"], path: "Tests/Fixtures/BlockingOnly",
            swiftSettings: settings),
        .executableTarget(
            name: "requests-first-day",
            dependencies: ["RequestsMiddleware", "RequestsMock", "RequestsSocket", "RequestsTestServer"],
            path: "Tests/Fixtures/FirstDay", swiftSettings: settings),
        .target(
            name: "ManyEndpoints", dependencies: ["Requests"], path: "Tests/Fixtures/ManyEndpoints",
            swiftSettings: settings),
        .executableTarget(
            name: "requests-main-actor-app", dependencies: ["RequestsSocket"], path: "Tests/Fixtures/MainActorApp",
            swiftSettings: settings + [.defaultIsolation(MainActor.self)]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "ManyEndpoints", "requests-blocking-only", "requests-first-day", "requests-main-actor-app",
                "requests-tour", "RequestsMock", "RequestsTestServer",
            ],
            exclude: ["tour.golden.txt"], swiftSettings: settings),
        .testTarget(
            name: "HouseTests", dependencies: ["requests-socket-only", "requests-readme-program"],
            swiftSettings: settings),
        .testTarget(
            name: "ReadmeTests", dependencies: ["RequestsMock", "RequestsSocket", "RequestsTestServer"],
            swiftSettings: settings),
        .target(
            name: "RequestsConformance", dependencies: ["Requests", "RequestsMock", "RequestsTestServer"],
            swiftSettings: settings),
        .testTarget(
            name: "RequestsTests", dependencies: ["Requests", "TestCorpora", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "RequestsFoundationTests",
            dependencies: ["RequestsFoundation", "Requests", "RequestsMock", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "RequestsMiddlewareTests",
            dependencies: [
                "CRequestsPOSIX", "RequestsMiddleware", "RequestsMock", "RequestsPOSIX", "RequestsSocket",
                "RequestsTestServer", "RequestsURLSession", "TestCorpora", "TestSupport",
            ], swiftSettings: settings),
        .testTarget(
            name: "RequestsXMLTests", dependencies: ["RequestsXML", "TestCorpora", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "ReadmeV032Mode5Tests", dependencies: ["RequestsURLSession", "Requests"],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        .testTarget(
            name: "ReadmeV032Mode6Tests", dependencies: ["RequestsURLSession", "Requests"],
            swiftSettings: [.swiftLanguageMode(.v6)]),
        .target(
            name: "TestSupport", dependencies: ["CRequestsPOSIX", "Requests", "RequestsPOSIX"],
            path: "Tests/TestSupport", swiftSettings: settings),
        .target(name: "TestCorpora", dependencies: ["Requests"], path: "Tests/TestCorpora", swiftSettings: settings),
        .testTarget(
            name: "RequestsHTTP1Tests", dependencies: ["RequestsHTTP1", "Requests", "TestCorpora", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "RequestsURLSessionTests",
            dependencies: ["RequestsURLSession", "RequestsConformance", "RequestsPOSIX", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "RequestsPOSIXTests", dependencies: ["CRequestsPOSIX", "RequestsPOSIX", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "RequestsSocketTests",
            dependencies: [
                "CRequestsPOSIX", "RequestsMiddleware", "RequestsSocket", "RequestsHTTP1", "RequestsPOSIX",
                "TestCorpora", "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(name: "RequestsMockTests", dependencies: ["RequestsMock"], swiftSettings: settings),
        .testTarget(
            name: "RequestsTestServerTests",
            dependencies: ["RequestsTestServer", "RequestsMock", "RequestsHTTP1", "RequestsPOSIX", "TestCorpora"],
            swiftSettings: settings),
        .testTarget(
            name: "RequestsConformanceTests",
            dependencies: ["RequestsConformance", "RequestsMiddleware", "RequestsSocket"],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
