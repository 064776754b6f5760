extension Request {
    /// This request with a set of `parameters` added, which go to `destination`: the query for GET, HEAD and DELETE, a
    /// form for other methods, unless it says otherwise.
    ///
    /// In the query, the items that were added before the first parameters come before them, others after.
    public consuming func adding(
        parameters: RequestParameters, in destination: ParameterSet.Destination = .byMethod
    ) -> Self {
        adding(ParameterSet(parameters, in: destination))
    }

    /// This request with what `value` encodes as added to its parameters, encoded each time it is prepared.
    @_disfavoredOverload
    public consuming func adding(
        parameters value: some Encodable & Sendable, in destination: ParameterSet.Destination = .byMethod
    ) -> Self {
        adding(ParameterSet(encoding: value, in: destination))
    }

    /// This request with `set` added to its parameters.
    public consuming func adding(_ set: ParameterSet) -> Self {
        parts.add(set)
        return self
    }

    /// This request with what `value` encodes as in the place of the query it has.
    ///
    /// The value is encoded each time the request is prepared; how its arrays, dates and so on read is said by `format`.
    /// Parameters that go to the query stay, and come after; so do items that are added later.
    @_disfavoredOverload
    public consuming func with(query value: some Encodable & Sendable, format: ParameterFormat = .standard) -> Self {
        parts.replaceQuery(with: ParameterSet(encoding: value, in: .query(format)))
        return self
    }
}
