extension PreparedRequest {
    /// The values that a request consists of.
    struct Parts: Sendable {
        var method: HTTPMethod
        var target: TargetURI
        var header: Header
        var body = RequestBody.none
        var delivery: ResponseBody.Delivery
        var deadline: Deadline?
        var acceptedTypes: [MediaType]
        var cachePolicy: PreparedRequest.CachePolicy
        var settings: RequestSettings
        var template: PathTemplate
        /// Whether the template was described or set, as opposed to taken from the path of a URL.
        var isTemplateKnown: Bool
        /// The redirects that led to the request; nil for the first request of a call.
        var redirection: Redirection?
        /// The values that the environment has added; nil without an environment.
        var defaults: AppliedDefaults?
        var permitsEncodedStream = false
        // Not `any Endpoint`: the layer of endpoints is above this one (decision 0028).
        var typedEndpoint: (any Sendable)?
        let api: (any Sendable)?
        /// Whether middleware around the executor handles a 401 response itself.
        var handlesUnauthorized = false
        /// Creates parts with the values that most requests set.
        ///
        /// Setting them later would first create the default values.
        init(
            method: HTTPMethod, target: TargetURI, header: Header, delivery: ResponseBody.Delivery,
            acceptedTypes: [MediaType] = [], cachePolicy: PreparedRequest.CachePolicy = .useProtocolCachePolicy,
            settings: RequestSettings = RequestSettings(), template: PathTemplate? = nil,
            isTemplateKnown: Bool = false, api: consuming (any Sendable)? = nil
        ) {
            self.method = method
            self.target = target
            self.header = header
            self.delivery = delivery
            self.acceptedTypes = acceptedTypes
            self.cachePolicy = cachePolicy
            self.settings = settings
            self.template = template ?? PathTemplate(path: target.path, text: nil)
            self.isTemplateKnown = isTemplateKnown
            self.api = api
        }
    }
}
