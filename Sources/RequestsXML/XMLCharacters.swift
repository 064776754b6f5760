/// The characters that XML 1.0 allows (fifth edition, §2.2 and §2.3).
enum XMLCharacters {
    /// Returns whether a document may contain `scalar`.
    static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D, 0x20...0xD7FF, 0xE000...0xFFFD, 0x1_0000...: true
        default: false
        }
    }

    /// Returns whether `scalars` are a name without a colon.
    static func isName(_ scalars: some Collection<Unicode.Scalar>) -> Bool {
        guard let first = scalars.first, canStartName(first) else { return false }
        return scalars.allSatisfy(canBeInName)
    }

    /// Returns whether a name may begin with `scalar`; the colon is excluded.
    static func canStartName(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x41...0x5A, 0x5F, 0x61...0x7A, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x1FFF,
            0x200C...0x200D, 0x2070...0x218F, 0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF, 0xFDF0...0xFFFD,
            0x1_0000...0xE_FFFF:
            true
        default: false
        }
    }

    /// Returns whether a name may contain `scalar`.
    static func canBeInName(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x2D, 0x2E, 0x30...0x39, 0xB7, 0x300...0x36F, 0x203F...0x2040: true
        default: canStartName(scalar)
        }
    }
}
