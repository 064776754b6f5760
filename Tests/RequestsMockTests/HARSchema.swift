import RequestsMock

/// A validator of the HAR 1.2 format: the members of each object, their types and their permitted values.
enum HARSchema {
    private indirect enum Rule: Sendable {
        case string, integer, time, array(Rule), object([String: Rule], optional: [String: Rule] = [:])
        case oneOf([String])
        /// A duration in milliseconds, or -1 for a stage that does not apply.
        case duration(optional: Bool)
    }

    private static let pair = Rule.object(["name": .string, "value": .string], optional: ["comment": .string])
    private static let cookie = Rule.object(
        ["name": .string, "value": .string],
        optional: ["path": .string, "domain": .string, "expires": .string, "comment": .string])
    private static let message: [String: Rule] = [
        "httpVersion": .string, "cookies": .array(cookie), "headers": .array(pair), "headersSize": .integer,
        "bodySize": .integer,
    ]

    private static let entry = Rule.object(
        [
            "startedDateTime": .time, "time": .duration(optional: false), "cache": .object([:]),
            "request": .object(
                message.merging(["method": .string, "url": .string, "queryString": .array(pair)]) { $1 },
                optional: [
                    "postData": .object(
                        ["mimeType": .string, "params": .array(pair), "text": .string], optional: ["comment": .string])
                ]),
            "response": .object(
                message.merging([
                    "status": .integer, "statusText": .string, "redirectURL": .string,
                    "content": .object(
                        ["size": .integer, "mimeType": .string],
                        optional: ["text": .string, "encoding": .oneOf(["base64"]), "comment": .string]),
                ]) { $1 }),
            "timings": .object(
                ["send", "wait", "receive"].reduce(into: [:]) { $0[$1] = .duration(optional: false) },
                optional: ["blocked", "dns", "connect", "ssl"].reduce(into: [:]) { $0[$1] = .duration(optional: true) }),
        ], optional: ["comment": .string, "connection": .string, "serverIPAddress": .string])

    private static let archive = Rule.object([
        "log": .object([
            "version": .oneOf(["1.2"]), "creator": .object(["name": .string, "version": .string]),
            "entries": .array(entry),
        ])
    ])

    /// Returns the violations of the format in `data`, each with its path.
    static func violations(in data: Data) throws -> [String] {
        let value = try JSONValue(parsing: data)
        var found = violations(of: archive, in: value, "")
        for (index, entry) in (value["log", "entries"]?.array ?? []).enumerated() {
            // The time is the sum of the stages; `ssl` is part of `connect`.
            let stages = (entry["timings"]?.object ?? [:]).filter { $0.key != "ssl" }.values.compactMap(\.double)
            let sum = stages.filter { $0 > 0 }.reduce(0, +)
            if abs(sum - (entry["time"]?.double ?? -1)) > 0.01 { found.append("entries[\(index)].time: not \(sum)") }
        }
        return found
    }

    private static func violations(of rule: Rule, in value: JSONValue, _ path: String) -> [String] {
        switch rule {
        case .string: return value.string == nil ? ["\(path): not a string"] : []
        case .integer: return value.int == nil ? ["\(path): not an integer"] : []
        case .oneOf(let texts): return value.string.map(texts.contains) == true ? [] : ["\(path): not permitted"]
        case .time:
            let pattern = #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/#
            return value.string.flatMap { $0.wholeMatch(of: pattern) } == nil ? ["\(path): not a date"] : []
        case .duration(let optional):
            guard let number = value.double else { return ["\(path): not a number"] }
            return number >= 0 || optional && number == -1 ? [] : ["\(path): \(number)"]
        case .array(let element):
            guard let elements = value.array else { return ["\(path): not an array"] }
            return elements.enumerated().flatMap { violations(of: element, in: $1, "\(path)[\($0)]") }
        case .object(let required, let optional):
            guard let members = value.object else { return ["\(path): not an object"] }
            var found = required.keys.filter { members[$0] == nil }.map { "\(path).\($0): missing" }
            for (name, member) in members {
                guard let rule = required[name] ?? optional[name] else {
                    found.append("\(path).\(name): unknown")
                    continue
                }
                found += violations(of: rule, in: member, "\(path).\(name)")
            }
            return found
        }
    }
}
