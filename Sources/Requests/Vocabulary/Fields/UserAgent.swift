/// What a User-Agent field tells of an app and what it runs on (RFC 9110 §10.1.5).
///
/// Nothing is sent unless asked for: `request.setting(headerField: .userAgent(UserAgent(name: "App").product))`.
public struct UserAgent: Hashable, Sendable {
    /// The app's name.
    public var name: String
    /// The app's version, such as `1.2`.
    public var version: String
    /// The app's build, when it differs from the version.
    public var build: String?
    /// The device, such as `iPhone16,1`; empty when it is not to be told.
    public var device: String
    /// The system's name, such as `iOS` or `Linux`.
    public var system: String
    /// The system's version, such as `18.2`.
    public var systemVersion: String
    /// The locale, such as `en_GB`; empty when it is not to be told.
    public var locale: String
    /// The scale of the screen; nil when there is none.
    public var scale: Double?

    /// What is told of an app; name, system and version are the process's unless they are given.
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

    /// The system this was built for.
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

    /// The version of the system this runs on.
    public static var currentSystemVersion: String {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        let patch = version.patchVersion == 0 ? "" : ".\(version.patchVersion)"
        return "\(version.majorVersion).\(version.minorVersion)\(patch)"
    }
}

extension UserAgent {
    /// `App/1.2`: a product and nothing else.
    public var product: String {
        "\(Self.token(name))/\(Self.token(version))"
    }

    /// `App 1.2 rv:345 (iPhone16,1; iOS 18.2; en_GB)` in PMHTTP's words: each part after its name.
    public var labelled: String {
        let build = build.flatMap { $0 == version ? nil : " rv:\($0)" } ?? ""
        let labels = [
            device.isEmpty ? "" : "device_model:\(device)", "system_os:\(system)", "system_version:\(systemVersion)",
            locale,
        ]
        return Self.ascii("\(name) \(version)\(build)") + Self.comment(labels)
    }

    /// `App/1.2 (iPhone; iOS 18.2; Scale/3.00)`, as AFNetworking writes it.
    public var scaled: String {
        let scale = scale.map { "Scale/\(Self.hundredths($0))" } ?? ""
        return product + Self.comment([device, "\(system) \(systemVersion)", scale])
    }

    private static func comment(_ parts: [String]) -> String {
        let told = parts.filter { !$0.isEmpty }.map { part in
            ascii(part).replacingBytes { byte in
                switch byte {
                case UInt8(ascii: "\\"): #"\\"#
                case UInt8(ascii: "("): #"\("#
                case UInt8(ascii: ")"): #"\)"#
                default: nil
                }
            }
        }
        return " (\(told.joined(separator: "; ")))"
    }

    /// `text` as a token: letters outside ASCII by their base letter, everything else that no token holds as `_`.
    private static func token(_ text: String) -> String {
        let bytes = ascii(text).utf8.map { Token.isTokenByte($0) ? $0 : UInt8(ascii: "_") }
        return bytes.isEmpty ? "_" : String(decoding: bytes, as: UTF8.self)
    }

    /// Two digits after the point, whatever the locale; a scale that is no number is 0.
    private static func hundredths(_ scale: Double) -> String {
        let value = scale.isFinite ? Int((min(max(scale, 0), 1_000) * 100).rounded()) : 0
        return "\(value / 100).\(value % 100 < 10 ? "0" : "")\(value % 100)"
    }

    /// `text` in printable ASCII: Latin letters without their marks, everything else as `?`.
    static func ascii(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F ? " " : String(scalar) }
            return baseLetters(of: scalar) ?? "?"
        }.joined()
    }

    /// The letters that the Unicode name of a Latin letter names: `Ł` is “LATIN CAPITAL LETTER L WITH STROKE”.
    private static func baseLetters(of scalar: Unicode.Scalar) -> String? {
        if scalar.properties.generalCategory == .nonspacingMark { return "" }
        guard let name = scalar.properties.name, let match = name.wholeMatch(of: Self.latinLetter) else {
            return scalar == "ß" ? "ss" : nil
        }
        return match.output.1 == "SMALL" ? ASCIIFolding.folded(String(match.output.2)) : String(match.output.2)
    }

    private static var latinLetter: Regex<(Substring, Substring, Substring)> {
        /LATIN (SMALL|CAPITAL) LETTER ([A-Z]{1,2})(?: WITH .*)?/
    }
}
