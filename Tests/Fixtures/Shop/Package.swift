// swift-tools-version: 6.3
import PackageDescription

// An app with tests, as the articles on testing show them. It is built and tested as a package of its own.
let package = Package(
    name: "Shop",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Requests", path: "../../..")],
    targets: [
        .target(name: "Shop", dependencies: [.product(name: "Requests", package: "Requests")]),
        .testTarget(
            name: "ShopTests",
            dependencies: [
                "Shop",
                .product(name: "RequestsConformance", package: "Requests"),
                .product(name: "RequestsMiddleware", package: "Requests"),
                .product(name: "RequestsMock", package: "Requests"),
                .product(name: "RequestsSocket", package: "Requests"),
                .product(name: "RequestsTestServer", package: "Requests"),
            ],
            exclude: ["orders.txt"]),
        // Links to the test snippets of the README, and to those of the articles.
        .testTarget(
            name: "ReadmeTests",
            dependencies: [
                .product(name: "RequestsMock", package: "Requests"),
                .product(name: "RequestsSocket", package: "Requests"),
                .product(name: "RequestsTestServer", package: "Requests"),
            ]),
        .testTarget(
            name: "ArticleTests",
            dependencies: [
                .product(name: "RequestsMiddleware", package: "Requests"),
                .product(name: "RequestsMock", package: "Requests"),
                .product(name: "RequestsSocket", package: "Requests"),
                .product(name: "RequestsTestServer", package: "Requests"),
                .product(name: "RequestsURLSession", package: "Requests"),
                .product(name: "RequestsXML", package: "Requests"),
            ]),
    ])
