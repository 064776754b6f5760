/// The settings of a request that few requests change.
///
/// They share one reference, which is nil for most requests; a prepared request shares it with its description
/// (decision 0015).
struct RequestSettings: Sendable {
    struct Values: Sendable {
        var timeouts = Timeouts.standard
        var validator = ResponseValidator.standard
        var redirectPolicy = RedirectPolicy.standard
        var attributes = RequestAttributes()
        var progressHandler: (@Sendable (TransferProgress) -> Void)?
        /// The form that the body was made from, for the curl command; nil for other bodies.
        var form: (any CurlDescribable)?
        /// An error that a non-throwing builder recorded; preparing the request throws it.
        var problem: RequestError.InvalidRequest?
    }

    private final class Box: Sendable {
        let values: Values

        init(_ values: Values) {
            self.values = values
        }
    }

    private var box: Box?

    /// Settings without time limits, which all requests of test servers share.
    static let withoutTimeouts: RequestSettings = {
        var settings = RequestSettings()
        settings.timeouts = Timeouts(connect: nil, firstByte: nil, betweenBytes: nil)
        return settings
    }()

    /// Whether no setting has been changed.
    var isDefault: Bool { box == nil }

    /// All settings; setting them makes one copy.
    var values: Values {
        get { box?.values ?? Values() }
        set { box = Box(newValue) }
    }

    var problem: RequestError.InvalidRequest? { box?.values.problem }

    var form: (any CurlDescribable)? {
        get { box?.values.form }
        set { values.form = newValue }
    }

    var timeouts: Timeouts {
        get { box?.values.timeouts ?? .standard }
        set { values.timeouts = newValue }
    }

    var validator: ResponseValidator {
        get { box?.values.validator ?? .standard }
        set { values.validator = newValue }
    }

    var redirectPolicy: RedirectPolicy {
        get { box?.values.redirectPolicy ?? .standard }
        set { values.redirectPolicy = newValue }
    }

    var attributes: RequestAttributes {
        get { box?.values.attributes ?? RequestAttributes() }
        set { values.attributes = newValue }
    }

    var progressHandler: (@Sendable (TransferProgress) -> Void)? {
        get { box?.values.progressHandler }
        set { values.progressHandler = newValue }
    }
}
