import Requests

extension HARArchive {
    /// The archive as an HTML page with a table and the stages of each exchange over time.
    ///
    /// The page is one file without scripts and without references to other files. It adapts to light and dark
    /// appearance, and can be used with a keyboard and a screen reader: each bar has a text, and the fields of an
    /// exchange open with the Return key.
    public var waterfallHTML: String {
        let scale = WaterfallScale(entries)
        let total = WaterfallScale.text(scale.total)
        var page = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
            <meta name="color-scheme" content="light dark">
            <title>Waterfall of \(entries.count) exchanges</title>
            <style>
            \(Self.style)
            </style>
            </head>
            <body>
            <main>
            <h1>Waterfall</h1>
            <p>\(entries.count) exchanges in \(total)</p>
            <ul class="legend" aria-label="Stages">

            """
        for stage in WaterfallStage.allCases {
            page += "<li><span class=\"key \(stage.rawValue)\"></span>\(stage.rawValue)</li>\n"
        }
        page += """
            </ul>
            <div class="scroll" tabindex="0" role="region" aria-label="Exchanges">
            <table>
            <caption>Exchanges in the order in which they began</caption>
            <thead><tr><th scope="col">Request</th><th scope="col">Status</th><th scope="col">Type</th>\
            <th scope="col">Size</th><th scope="col">Time</th><th scope="col">Stages</th></tr></thead>
            <tbody>

            """
        for entry in entries { page += entry.row(scale) }
        return page + "</tbody>\n</table>\n</div>\n</main>\n</body>\n</html>\n"
    }

    private static var style: String {
        """
        :root { color-scheme: light dark; --text: #1d1d1f; --back: #ffffff; --line: #d2d2d7; --error: #b00020;
          --blocked: #8e8e93; --lookup: #00796b; --connect: #b35900; --tls: #7b3fa0; --send: #1565c0; --wait: #2e7d32;
          --receive: #0277bd; }
        @media (prefers-color-scheme: dark) { :root { --text: #f5f5f7; --back: #1c1c1e; --line: #48484a;
          --error: #ff8a80; --blocked: #aeaeb2; --lookup: #4db6ac; --connect: #ffb74d; --tls: #ce93d8; --send: #64b5f6;
          --wait: #81c784; --receive: #4fc3f7; } }
        body { margin: 1rem; font: 1rem/1.4 system-ui, sans-serif; color: var(--text); background: var(--back); }
        .scroll { overflow-x: auto; } .scroll:focus, summary:focus { outline: 3px solid var(--send); }
        table { border-collapse: collapse; width: 100%; } caption { text-align: start; padding: .5rem 0; }
        th, td { text-align: start; vertical-align: top; padding: .25rem .5rem; border-top: 1px solid var(--line); }
        td.number { text-align: end; white-space: nowrap; } .url { overflow-wrap: anywhere; }
        .failed { color: var(--error); font-weight: bold; } dt { font-weight: bold; } dd { overflow-wrap: anywhere; }
        .bars { position: relative; min-width: 16rem; height: 1rem; } .bars span { position: absolute; height: 100%;
          min-width: 1px; } tbody th { min-width: 14rem; }
        .legend { list-style: none; display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; }
        .key { display: inline-block; width: 1rem; height: 1rem; margin-inline-end: .25rem; vertical-align: middle; }
        .blocked { background: var(--blocked); } .lookup { background: var(--lookup); }
        .connect { background: var(--connect); } .tls { background: var(--tls); } .send { background: var(--send); }
        .wait { background: var(--wait); } .receive { background: var(--receive); }
        """
    }

    /// Returns the archive as lines for a terminal, with a bar that shows the stages of each exchange over time.
    ///
    /// - Parameter width: The number of columns; at least 60.
    /// - Returns: The lines: a legend, and one line for each exchange.
    public func waterfallText(width: Int = 100) -> String {
        let scale = WaterfallScale(entries)
        let width = max(60, min(width, 1_000))
        let (nameWidth, barWidth) = (width / 2 - 12, width - width / 2 - 6)
        let legend = WaterfallStage.allCases.map { "\($0.symbol) \($0.rawValue)" }.joined(separator: "  ")
        var lines = ["\(entries.count) exchanges in \(WaterfallScale.text(scale.total))", legend]
        for entry in entries {
            let name = entry.shownName.unicodeScalars
            // The end of a URL is more specific than its beginning.
            let shown = name.count > nameWidth ? "…" + String(name.suffix(nameWidth - 1)) : String(name)
            let padding = String(repeating: " ", count: max(0, nameWidth - shown.unicodeScalars.count))
            var bar = [UInt8](repeating: 0x20, count: barWidth)
            for part in scale.parts(of: entry) {
                let start = min(barWidth - 1, Int(part.start * Double(barWidth)))
                let end = min(barWidth, max(start + 1, Int(((part.start + part.length) * Double(barWidth)).rounded())))
                for column in start..<end { bar[column] = part.stage.symbol.value }
            }
            let status = entry.status.map { "\($0.code)" } ?? "---"
            let time = WaterfallScale.text(entry.timings.total)
            let space = String(repeating: " ", count: max(0, 9 - time.utf8.count))
            bar.removeLast(bar.reversed().prefix { $0 == 0x20 }.count)
            lines.append("\(shown)\(padding) \(status) \(space)\(time) |\(String(decoding: bar, as: UTF8.self))")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// A stage of an exchange, and its symbol in a terminal.
private enum WaterfallStage: String, CaseIterable {
    case blocked, lookup, connect, tls, send, wait, receive

    var symbol: WaterfallSymbol {
        switch self {
        case .blocked: WaterfallSymbol(".")
        case .lookup: WaterfallSymbol("d")
        case .connect: WaterfallSymbol("c")
        case .tls: WaterfallSymbol("t")
        case .send: WaterfallSymbol("s")
        case .wait: WaterfallSymbol("-")
        case .receive: WaterfallSymbol("=")
        }
    }
}

/// The time that all exchanges share.
private struct WaterfallScale {
    let start: Date
    let total: Duration

    init(_ entries: [HARArchive.Entry]) {
        let start = entries.map(\.startedAt).min() ?? Date(timeIntervalSince1970: 0)
        self.start = start
        total = entries.map { Self.offset(of: $0, start) + $0.timings.total }.max() ?? .zero
    }

    private static func offset(of entry: HARArchive.Entry, _ start: Date) -> Duration {
        // The dates of an imported archive can be thousands of years apart.
        .milliseconds(Int64(min(32e9, max(0, entry.startedAt.timeIntervalSince(start) * 1000)).rounded()))
    }

    /// Returns the stages of `entry`, with their start and length as fractions of the whole time.
    func parts(of entry: HARArchive.Entry) -> [(stage: WaterfallStage, start: Double, length: Double)] {
        let whole = max(total.milliseconds, 0.001)
        var position = Self.offset(of: entry, start).milliseconds
        var parts: [(stage: WaterfallStage, start: Double, length: Double)] = []
        for (stage, duration) in entry.timings.stages where duration > .zero {
            parts.append((stage, position / whole, duration.milliseconds / whole))
            position += duration.milliseconds
        }
        return parts
    }

    static func text(_ duration: Duration) -> String {
        let tenths = Int((duration.milliseconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) ms"
    }

    /// Returns `fraction` in percent with two decimals, independent of the locale.
    static func percent(_ fraction: Double) -> String {
        let hundredths = Int((fraction * 10_000).rounded())
        let decimals = hundredths % 100
        return "\(hundredths / 100).\(decimals < 10 ? "0" : "")\(decimals)%"
    }
}

extension HARArchive.Timings {
    /// The stages in order.
    ///
    /// Here, connecting does not include TLS.
    fileprivate var stages: [(WaterfallStage, Duration)] {
        let whole = (connect ?? .zero).counted
        let tls = min((tls ?? .zero).counted, whole)
        return [
            (.blocked, (blocked ?? .zero).counted), (.lookup, (lookup ?? .zero).counted), (.connect, whole - tls),
            (.tls, tls), (.send, send.counted), (.wait, wait.counted), (.receive, receive.counted),
        ]
    }
}

extension HARArchive.Entry {
    fileprivate var shownName: String {
        RequestError.singleLine("\(method) \(Redaction.standard.redacted(reference: url))")
    }

    fileprivate func row(_ scale: WaterfallScale) -> String {
        let stages = timings.stages.filter { $0.1 > .zero }.map { "\($0.0.rawValue) \(WaterfallScale.text($0.1))" }
        let spoken = stages.isEmpty ? "no time" : stages.joined(separator: ", ")
        let bars = scale.parts(of: self).map { part in
            let (start, length) = (WaterfallScale.percent(part.start), WaterfallScale.percent(part.length))
            return "<span class=\"\(part.stage.rawValue)\" style=\"left:\(start);width:\(length)\"></span>"
        }.joined()
        let isFailed = status.map { $0.code >= 400 } ?? true
        let shownStatus = status.map { "\($0)" } ?? "failed"
        let details = Self.fields("Request", requestHeader) + Self.fields("Response", responseHeader)
        let remark = comment.map { "<p>\(Self.escaped(Redaction.standard.redacted(reference: $0)))</p>" } ?? ""
        return """
            <tr>
            <th scope="row" class="url"><details><summary>\(Self.escaped(shownName))</summary>\(remark)\(details)</details></th>
            <td\(isFailed ? " class=\"failed\"" : "")>\(Self.escaped(shownStatus))</td>
            <td>\(Self.escaped(responseBody.mediaType))</td>
            <td class="number">\(ErrorText.bytes(responseBody.size))</td>
            <td class="number">\(WaterfallScale.text(timings.total))</td>
            <td><div class="bars" role="img" aria-label="\(Self.escaped(spoken))">\(bars)</div></td>
            </tr>

            """
    }

    private static func fields(_ title: String, _ header: Header) -> String {
        if header.isEmpty { return "" }
        // An imported archive may contain secrets, also in the URLs of Location, Referer and similar fields.
        let redaction = ExchangeRedaction(nil)
        let items = header.map { field in
            "<dt>\(escaped(field.name.rawValue))</dt><dd>\(escaped(redaction.value(of: field)))</dd>"
        }
        return "<h2>\(title)</h2><dl>\(items.joined())</dl>"
    }

    private static func escaped(_ text: String) -> String {
        RequestError.singleLine(text).replacingBytes { byte in
            switch byte {
            case UInt8(ascii: "&"): "&amp;"
            case UInt8(ascii: "<"): "&lt;"
            case UInt8(ascii: ">"): "&gt;"
            case UInt8(ascii: "\""): "&quot;"
            case UInt8(ascii: "'"): "&#39;"
            default: nil
            }
        }
    }
}

/// An ASCII character in a terminal.
private struct WaterfallSymbol: CustomStringConvertible {
    let value: UInt8

    init(_ scalar: Unicode.Scalar) {
        value = UInt8(ascii: scalar)
    }

    var description: String { String(decoding: [value], as: UTF8.self) }
}
