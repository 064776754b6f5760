/// How a request is to be treated, where that is not the usual way: one reference, which most requests do without and
/// which the others share with what they are prepared to.
struct Handling: Sendable {
    struct Values: Sendable {
        var timeouts = Timeouts.standard
        var validator = Validator.standard
        var redirects = RedirectPolicy.standard
        var attributes = RequestAttributes()
        var onProgress: (@Sendable (TransferProgress) -> Void)?
    }

    private final class Box: Sendable {
        let values: Values

        init(_ values: Values) {
            self.values = values
        }
    }

    private var box: Box?

    /// Whether nothing is said.
    var isUsual: Bool { box == nil }

    /// Everything at once; setting it makes one copy.
    var values: Values {
        get { box?.values ?? Values() }
        set { box = Box(newValue) }
    }

    var timeouts: Timeouts {
        get { box?.values.timeouts ?? .standard }
        set { values.timeouts = newValue }
    }

    var validator: Validator {
        get { box?.values.validator ?? .standard }
        set { values.validator = newValue }
    }

    var redirects: RedirectPolicy {
        get { box?.values.redirects ?? .standard }
        set { values.redirects = newValue }
    }

    var attributes: RequestAttributes {
        get { box?.values.attributes ?? RequestAttributes() }
        set { values.attributes = newValue }
    }

    var onProgress: (@Sendable (TransferProgress) -> Void)? {
        get { box?.values.onProgress }
        set { values.onProgress = newValue }
    }
}
