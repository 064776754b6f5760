// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "Requests",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Requests", targets: ["Requests"]),
        .library(name: "RequestsMock", targets: ["RequestsMock"]),
        .library(name: "RequestsSocket", targets: ["RequestsSocket"]),
        .library(name: "RequestsFoundation", targets: ["RequestsFoundation"]),
        .library(name: "RequestsTestServer", targets: ["RequestsTestServer"]),
    ],
    targets: [
        .target(name: "Requests", swiftSettings: settings),
        .target(name: "RequestsFoundation", dependencies: ["Requests"], swiftSettings: settings),
        .target(name: "RequestsHTTP1", dependencies: ["Requests"], swiftSettings: settings),
        .systemLibrary(name: "CRequestsPOSIX"),
        .target(name: "RequestsPOSIX", dependencies: ["CRequestsPOSIX"], swiftSettings: settings),
        .target(
            name: "RequestsSocket", dependencies: ["Requests", "RequestsHTTP1", "RequestsPOSIX"],
            swiftSettings: settings),
        .target(name: "RequestsMock", dependencies: ["Requests"], swiftSettings: settings),
        .target(
            name: "RequestsTestServer", dependencies: ["Requests", "RequestsHTTP1", "RequestsPOSIX"],
            swiftSettings: settings),
        .testTarget(name: "RequestsTests", dependencies: ["Requests"], swiftSettings: settings),
        .testTarget(
            name: "RequestsFoundationTests", dependencies: ["RequestsFoundation", "Requests"], swiftSettings: settings),
        .testTarget(
            name: "ReadmeV032Mode5Tests", dependencies: ["RequestsFoundation", "Requests"],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        .testTarget(
            name: "ReadmeV032Mode6Tests", dependencies: ["RequestsFoundation", "Requests"],
            swiftSettings: [.swiftLanguageMode(.v6)]),
        .testTarget(name: "RequestsHTTP1Tests", dependencies: ["RequestsHTTP1", "Requests"], swiftSettings: settings),
        .testTarget(
            name: "RequestsPOSIXTests", dependencies: ["CRequestsPOSIX", "RequestsPOSIX"], swiftSettings: settings),
        .testTarget(
            name: "RequestsSocketTests", dependencies: ["RequestsSocket", "RequestsHTTP1", "RequestsPOSIX"],
            swiftSettings: settings),
        .testTarget(name: "RequestsMockTests", dependencies: ["RequestsMock"], swiftSettings: settings),
        .testTarget(
            name: "RequestsTestServerTests",
            dependencies: ["RequestsTestServer", "RequestsMock", "RequestsHTTP1", "RequestsPOSIX"],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
