/// The description of an app and its system for a User-Agent field (RFC 9110 §10.1.5).
///
/// The field is sent only if you set it, for example with
/// `request.setting(headerField: .userAgent(UserAgent(name: "App").productFieldValue))`.
public struct UserAgent: Hashable, Sendable {
    /// The name of the app.
    public var name: String
    /// The version of the app, such as `1.2`.
    public var version: String
    /// The build of the app, or nil; omitted if it equals the version.
    public var build: String?
    /// The device, such as `iPhone16,1`; empty to omit it.
    public var device: String
    /// The name of the system, such as `iOS` or `Linux`.
    public var system: String
    /// The version of the system, such as `18.2`.
    public var systemVersion: String
    /// The locale, such as `en_GB`; empty to omit it.
    public var locale: String
    /// The scale of the screen, or nil to omit it.
    public var scale: Double?

    /// Creates a description; by default it has the name of the process and the current system.
    public init(
        name: String = ProcessInfo.processInfo.processName, version: String = "unknown", build: String? = nil,
        device: String = "", system: String = Self.currentSystem, systemVersion: String = Self.currentSystemVersion,
        locale: String = "", scale: Double? = nil
    ) {
        self.name = name
        self.version = version
        self.build = build
        self.device = device
        self.system = system
        self.systemVersion = systemVersion
        self.locale = locale
        self.scale = scale
    }

    /// The name of the system that the code was built for.
    public static var currentSystem: String {
        #if os(Linux)
        "Linux"
        #elseif os(macOS)
        "macOS"
        #elseif os(iOS)
        "iOS"
        #elseif os(tvOS)
        "tvOS"
        #elseif os(watchOS)
        "watchOS"
        #elseif os(visionOS)
        "visionOS"
        #else
        "unknown"
        #endif
    }

    /// The version of the system that the process runs on.
    public static var currentSystemVersion: String {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        let patch = version.patchVersion == 0 ? "" : ".\(version.patchVersion)"
        return "\(version.majorVersion).\(version.minorVersion)\(patch)"
    }
}

extension UserAgent {
    /// The value with only a product: `App/1.2`.
    public var productFieldValue: String {
        "\(Self.token(name))/\(Self.token(version))"
    }

    /// The value in the format of PMHTTP, such as `App 1.2 rv:345 (system_os:iOS; system_version:18.2; en_GB)`.
    public var pmhttpFieldValue: String {
        let build = build.flatMap { $0 == version ? nil : " rv:\($0)" } ?? ""
        let labels = [
            device.isEmpty ? "" : "device_model:\(device)", "system_os:\(system)", "system_version:\(systemVersion)",
            locale,
        ]
        return Self.ascii("\(name) \(version)\(build)") + Self.comment(labels)
    }

    /// The value in the format of AFNetworking, such as `App/1.2 (iPhone; iOS 18.2; Scale/3.00)`.
    public var afnetworkingFieldValue: String {
        let scale = scale.map { "Scale/\(Self.hundredths($0))" } ?? ""
        return productFieldValue + Self.comment([device, "\(system) \(systemVersion)", scale])
    }

    /// Returns a comment with the parts that are not empty, escaped (RFC 9110 §5.6.5).
    private static func comment(_ parts: [String]) -> String {
        let escapedParts = parts.filter { !$0.isEmpty }.map { part in
            ascii(part).replacingBytes { byte in
                switch byte {
                case UInt8(ascii: "\\"): #"\\"#
                case UInt8(ascii: "("): #"\("#
                case UInt8(ascii: ")"): #"\)"#
                default: nil
                }
            }
        }
        return " (\(escapedParts.joined(separator: "; ")))"
    }

    /// Returns `text` as a token: Latin letters become their base letters, other forbidden characters `_`.
    private static func token(_ text: String) -> String {
        let bytes = ascii(text).utf8.map { Token.isTokenByte($0) ? $0 : UInt8(ascii: "_") }
        return bytes.isEmpty ? "_" : String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a scale, limited to 0 to 1,000, with two decimal digits in every locale; infinity and NaN count as 0.
    private static func hundredths(_ scale: Double) -> String {
        let value = scale.isFinite ? Int((min(max(scale, 0), 1_000) * 100).rounded()) : 0
        return "\(value / 100).\(value % 100 < 10 ? "0" : "")\(value % 100)"
    }

    /// Returns `text` in printable ASCII: Latin letters become their base letters, control characters spaces, and other
    /// characters `?`.
    static func ascii(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F ? " " : String(scalar) }
            return baseLetters(of: scalar) ?? "?"
        }.joined()
    }

    /// Returns the base letters in the Unicode name of a Latin letter: `Ł` is “LATIN CAPITAL LETTER L WITH STROKE”.
    private static func baseLetters(of scalar: Unicode.Scalar) -> String? {
        if scalar.properties.generalCategory == .nonspacingMark { return "" }
        guard let name = scalar.properties.name, let match = name.wholeMatch(of: Self.latinLetter) else {
            return scalar == "ß" ? "ss" : nil
        }
        return match.output.1 == "SMALL" ? ASCIIFolding.folded(String(match.output.2)) : String(match.output.2)
    }

    // Computed, because a stored static must be `Sendable`, and `Regex` is not.
    private static var latinLetter: Regex<(Substring, Substring, Substring)> {
        /LATIN (SMALL|CAPITAL) LETTER ([A-Z]{1,2})(?: WITH .*)?/
    }
}
