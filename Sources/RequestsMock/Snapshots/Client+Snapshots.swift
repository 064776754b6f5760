import Requests

extension Client {
    /// Checks the request of `endpoint` against a text in the source.
    ///
    /// ```swift
    /// try github.assertWire(
    ///     Users.me,
    ///     matches: """
    ///         GET /user HTTP/1.1
    ///         Host: api.github.com
    ///         Accept: application/json
    ///         """)
    /// ```
    ///
    /// The text is ``/Requests/PreparedRequest/wireText``, which is deterministic and redacted. The boundary of a
    /// multipart form is redacted too, because it is random. Newlines at the end are ignored. The check throws, so it
    /// works in every test framework.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - expected: The expected text.
    /// - Throws: ``WireSnapshotError`` with the lines that differ.
    public func assertWire<E: Endpoint>(
        _ endpoint: E, matches expected: String
    ) throws(WireSnapshotError) where E.API == API {
        let text = try WireSnapshot.text(of: endpoint, from: api)
        try WireSnapshot.compare(text, with: expected, named: "\(E.self)")
    }

    /// Checks the request of `endpoint` against a file.
    ///
    /// With a variable `REQUESTS_RECORD` in the environment, the file is written instead, unless it has the same text.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - path: The path of the file, below the folder of the source file unless it begins with a slash.
    ///   - filePath: The source file of the call.
    /// - Throws: ``WireSnapshotError`` with the lines that differ, or with the problem of the file.
    public func assertWire<E: Endpoint>(
        _ endpoint: E, recordedIn path: String, filePath: StaticString = #filePath
    ) throws(WireSnapshotError) where E.API == API {
        let text = try WireSnapshot.text(of: endpoint, from: api)
        try WireSnapshot.File(path, besides: filePath).check(text)
    }

    /// Checks the request of `call` against a text in the source; see ``assertWire(_:matches:)``.
    public func assertWire<Resource>(
        _ call: Call<API, Resource>, matches expected: String
    ) throws(WireSnapshotError) {
        try WireSnapshot.compare(try WireSnapshot.text(of: call, from: api), with: expected, named: "\(type(of: call))")
    }

    /// Checks the request of `call` against a file; see ``assertWire(_:recordedIn:filePath:)-(E,_,_)``.
    public func assertWire<Resource>(
        _ call: Call<API, Resource>, recordedIn path: String, filePath: StaticString = #filePath
    ) throws(WireSnapshotError) {
        try WireSnapshot.File(path, besides: filePath).check(try WireSnapshot.text(of: call, from: api))
    }

    /// Checks the request that `make` describes against a text in the source; see ``assertWire(_:matches:)``.
    public func assertWire<Resource>(
        _ make: (API) -> Request<API, Resource>, matches expected: String
    ) throws(WireSnapshotError) {
        let request = make(api)
        try WireSnapshot.compare(
            try WireSnapshot.text(of: request, from: api), with: expected, named: "\(type(of: request))")
    }

    /// Checks the request that `make` describes against a file; see ``assertWire(_:recordedIn:filePath:)-(E,_,_)``.
    public func assertWire<Resource>(
        _ make: (API) -> Request<API, Resource>, recordedIn path: String, filePath: StaticString = #filePath
    ) throws(WireSnapshotError) {
        try WireSnapshot.File(path, besides: filePath).check(try WireSnapshot.text(of: make(api), from: api))
    }

    /// Checks the requests of all cases of an endpoint against a text in the source.
    ///
    /// Each request follows a line with `###` and the name of its case, and an empty line is between two requests.
    ///
    /// - Parameters:
    ///   - type: The type of the endpoints.
    ///   - expected: The expected text.
    /// - Throws: ``WireSnapshotError`` with the lines that differ.
    public func assertWire<E: Endpoint & CaseIterable>(
        allCasesOf type: E.Type, matches expected: String
    ) throws(WireSnapshotError) where E.API == API {
        try WireSnapshot.compare(
            try WireSnapshot.text(ofAllCasesOf: type, from: api), with: expected, named: "\(type)")
    }

    /// Checks the requests of all cases of an endpoint against a file; see
    /// ``assertWire(_:recordedIn:filePath:)-(E,_,_)``.
    ///
    /// - Parameters:
    ///   - type: The type of the endpoints.
    ///   - path: The path of the file, below the folder of the source file unless it begins with a slash.
    ///   - filePath: The source file of the call.
    /// - Throws: ``WireSnapshotError`` with the lines that differ, or with the problem of the file.
    public func assertWire<E: Endpoint & CaseIterable>(
        allCasesOf type: E.Type, recordedIn path: String, filePath: StaticString = #filePath
    ) throws(WireSnapshotError) where E.API == API {
        let text = try WireSnapshot.text(ofAllCasesOf: type, from: api)
        try WireSnapshot.File(path, besides: filePath).check(text)
    }
}
