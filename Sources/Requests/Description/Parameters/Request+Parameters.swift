extension Request {
    /// Returns this request with `parameters` added.
    ///
    /// By default they go to the query for GET, HEAD and DELETE, and to a form in the body for other methods, unless
    /// the request has a body of another kind: then they go to the query too. In the query, items that were added
    /// before the first parameters precede them, and all other items follow them.
    public consuming func adding(
        parameters: RequestParameters, in destination: ParameterSet.Destination = .byMethod
    ) -> Self {
        adding(ParameterSet(parameters, in: destination))
    }

    /// Returns this request with the parameters that `value` encodes to.
    ///
    /// The value is encoded each time the request is prepared.
    @_disfavoredOverload
    public consuming func adding(
        parameters value: some Encodable & Sendable, in destination: ParameterSet.Destination = .byMethod
    ) -> Self {
        adding(ParameterSet(encoding: value, in: destination))
    }

    /// Returns this request with `set` added to its parameters.
    public consuming func adding(_ set: ParameterSet) -> Self {
        parts.add(set)
        return self
    }

    /// Returns this request with its query replaced by `parameters`, which can contain arrays, dictionaries and dates.
    ///
    /// A literal with nested or mixed values selects this function: `["tags": ["a", 1], "size": ["width": 3]]`. A null
    /// value is sent as a bare name unless `format` has another style; see ``RequestParameters/Format/nulls``.
    @_disfavoredOverload
    public consuming func with(
        query parameters: RequestParameters, format: RequestParameters.Format = .standard
    ) -> Self {
        parts.replaceQuery(with: ParameterSet(parameters, in: .query(format)))
        return self
    }

    /// Returns this request with its query replaced by `parameters`, in which null values are written in the style
    /// `nulls`.
    @_disfavoredOverload
    public consuming func with(
        query parameters: RequestParameters, nulls: RequestParameters.Format.NullStyle
    ) -> Self {
        with(query: parameters, format: RequestParameters.Format(nulls: nulls))
    }

    /// Returns this request with its query replaced by the parameters that `value` encodes to, in which null values are
    /// written in the style `nulls`.
    @_disfavoredOverload
    public consuming func with(
        query value: some Encodable & Sendable, nulls: RequestParameters.Format.NullStyle
    ) -> Self {
        with(query: value, format: RequestParameters.Format(nulls: nulls))
    }

    /// Returns this request with its query replaced by the parameters that `value` encodes to.
    ///
    /// The value is encoded each time the request is prepared, and `format` determines how its arrays, dates and other
    /// values are written. A synthesized conformance to `Encodable` leaves out properties that are nil. Parameters for
    /// the query stay and follow these, and so do query items that are added later.
    @_disfavoredOverload
    public consuming func with(
        query value: some Encodable & Sendable, format: RequestParameters.Format = .standard
    ) -> Self {
        parts.replaceQuery(with: ParameterSet(encoding: value, in: .query(format)))
        return self
    }
}
