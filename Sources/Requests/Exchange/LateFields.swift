/// The names of the fields that differ between a form of a request and the forms that later middleware makes of it.
final class LateFields: Sendable {
    private let header: Header
    /// The late fields of an earlier form, which include these.
    private let outer: LateFields?
    /// The names, in an array, because there are few.
    private let names = Lock<[Field.Name]>([])

    /// The number of names at which every field is late: a request can be performed any number of times.
    private static let limit = 64

    init(of header: Header, within outer: LateFields?) {
        self.header = header
        self.outer = outer
    }

    /// Adds the names of the fields in a later form that this form does not have, or has with another value.
    func add(_ later: Header) {
        for field in later where !header.contains(field) {
            names.withLock { names in
                if names.count < Self.limit, !names.contains(field.name) { names.append(field.name) }
            }
        }
        outer?.add(later)
    }

    /// Returns whether a field is late; true for every name when the limit is reached.
    func contains(_ name: Field.Name) -> Bool {
        names.withLock { $0.count >= Self.limit || $0.contains(name) }
    }
}
