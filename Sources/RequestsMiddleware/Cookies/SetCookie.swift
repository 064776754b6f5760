/// The parts of a Set-Cookie value (RFC 6265bis §5.6).
struct SetCookie {
    enum Domain {
        /// The value has no domain, or an empty one: the cookie is for the host that sets it.
        case host
        /// A domain in lower case, without the leading dot.
        case named(String)
        /// A domain that no host has.
        case invalid
    }

    let name: String
    let value: String
    private(set) var expires: Int?
    private(set) var maxAge: Int?
    private(set) var domain = Domain.host
    /// The path; nil if the value has none that begins with a slash.
    private(set) var path: String?
    /// Whether the value has an attribute Path that names the path `/` itself.
    private(set) var hasRootPath = false
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var sameSite: CookieJar.SameSite?

    /// The maximum length of an attribute's value in octets; a longer one is ignored.
    static let attributeLimit = 1_024

    /// Reads a field value; nil if it must be ignored as a whole.
    ///
    /// - Parameters:
    ///   - bytes: The value of one Set-Cookie field.
    ///   - limit: The maximum length of the name and the value together, in octets.
    init?(_ bytes: [UInt8], limit: Int) {
        guard !bytes.contains(where: Self.isControl) else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: ";"), maxSplits: 1, omittingEmptySubsequences: false)
        let pair = parts[0]
        let equals = pair.firstIndex(of: UInt8(ascii: "="))
        let name = (equals.map { pair[..<$0] } ?? pair[..<pair.startIndex]).trimmingBlanks
        let value = (equals.map { pair[($0 + 1)...] } ?? pair).trimmingBlanks
        guard !(name.isEmpty && value.isEmpty), name.count + value.count <= limit,
            // Other bytes could not be sent as they were received: a request is text.
            let nameText = String(validating: name, as: UTF8.self),
            let valueText = String(validating: value, as: UTF8.self)
        else { return nil }
        self.name = nameText
        self.value = valueText
        for attribute in parts.dropFirst().first?.split(separator: UInt8(ascii: ";")) ?? [] { read(attribute) }
    }

    /// Returns whether a byte is a control character other than a tab.
    static func isControl(_ byte: UInt8) -> Bool { (byte < 0x20 && byte != 0x09) || byte == 0x7F }
}

// MARK: Attributes

extension SetCookie {
    /// Reads one attribute.
    ///
    /// Of several with one name, the last one counts.
    private mutating func read(_ attribute: ArraySlice<UInt8>) {
        let equals = attribute.firstIndex(of: UInt8(ascii: "="))
        let name = (equals.map { attribute[..<$0] } ?? attribute).trimmingBlanks
        let value = (equals.map { attribute[($0 + 1)...] } ?? attribute[attribute.endIndex...]).trimmingBlanks
        guard name.count <= 8, value.count <= Self.attributeLimit else { return }
        switch name.map(ASCIIFolding.folded) {
        case Self.expiresName: if let seconds = CookieDate.seconds(in: value) { expires = seconds }
        case Self.maxAgeName: if let seconds = Self.seconds(value) { maxAge = seconds }
        case Self.domainName: domain = Self.domain(value)
        case Self.pathName: readPath(value)
        case Self.secureName: isSecure = true
        case Self.httpOnlyName: isHTTPOnly = true
        case Self.sameSiteName: sameSite = CookieJar.SameSite(value)
        default: break
        }
    }

    private static let expiresName = Array("expires".utf8)
    private static let maxAgeName = Array("max-age".utf8)
    private static let domainName = Array("domain".utf8)
    private static let pathName = Array("path".utf8)
    private static let secureName = Array("secure".utf8)
    private static let httpOnlyName = Array("httponly".utf8)
    private static let sameSiteName = Array("samesite".utf8)

    /// Returns a number of seconds, limited to the range of the type; nil if the text is not a number.
    private static func seconds(_ text: ArraySlice<UInt8>) -> Int? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard !digits.isEmpty, digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
        if isNegative { return 0 }
        var number = 0
        for digit in digits {
            let (product, hasOverflow) = number.multipliedReportingOverflow(by: 10)
            guard !hasOverflow, product <= .max - 9 else { return .max }
            number = product + Int(digit - UInt8(ascii: "0"))
        }
        return number
    }

    private static func domain(_ text: ArraySlice<UInt8>) -> Domain {
        if text.isEmpty { return .host }
        let name = text.first == UInt8(ascii: ".") ? text.dropFirst() : text
        guard !name.isEmpty, name.allSatisfy({ $0 < 0x80 }) else { return .invalid }
        return .named(String(decoding: name.map(ASCIIFolding.folded), as: UTF8.self))
    }

    private mutating func readPath(_ text: ArraySlice<UInt8>) {
        guard text.first == UInt8(ascii: "/"), let text = String(validating: text, as: UTF8.self) else {
            (path, hasRootPath) = (nil, false)
            return
        }
        path = text
        hasRootPath = text.utf8.count == 1
    }
}

extension CookieJar.SameSite {
    fileprivate init?(_ text: ArraySlice<UInt8>) {
        let text = text.map(ASCIIFolding.folded)
        switch text {
        case Array("strict".utf8): self = .strict
        case Array("lax".utf8): self = .lax
        case Array("none".utf8): self = .unrestricted
        default: return nil
        }
    }
}
