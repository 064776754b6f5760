// swift-tools-version: 6.2
import Foundation
import PackageDescription

// The environment names the folder of the package Requests.
let requests = ProcessInfo.processInfo.environment["REQUESTS"] ?? "../../../.."
let package = Package(
    name: "HTTP2Servers", platforms: [.macOS(.v15)], dependencies: [.package(name: "Requests", path: requests)],
    targets: [
        .executableTarget(
            name: "interop", dependencies: [.product(name: "RequestsSocket", package: "Requests")], path: ".")
    ])
