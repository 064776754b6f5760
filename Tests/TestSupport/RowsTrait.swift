public import Testing

/// The rows of the feature map that a test or suite proves, such as R-42.
///
/// `Docs/Features.md` maps each row to its tests, and a House test compares the two.
public struct RowsTrait: SuiteTrait, TestTrait {
    /// The ids of the rows.
    public let ids: [String]
}

extension Trait where Self == RowsTrait {
    /// Marks a test or suite as proof of `ids`.
    public static func rows(_ ids: String...) -> RowsTrait { RowsTrait(ids: ids) }
}
