import Requests

/// One row of measurements: the median of the rounds, and its ratio to a yardstick measured in the same run.
struct Figure: Sendable {
    let name: String
    let unit: String
    /// The median of the rounds.
    let median: Double
    let least: Double
    let most: Double
    /// The name of the yardstick that the ratio compares with.
    var yardstick: String?
    /// The median of the ratios, each computed within one round.
    var ratio: Double?
    /// The goal for the ratio, or for the median if there is no ratio.
    var goal: String?

    /// Returns the figure of `samples`, one per round, and of their ratios to the samples `other` of a yardstick.
    static func of(
        _ name: String, _ unit: String, _ samples: [Double], to other: [Double]? = nil, _ yardstick: String? = nil,
        goal: String? = nil
    ) -> Figure {
        let ratios = other.map { zip(samples, $0).map { $0 / $1 } }
        return Figure(
            name: name, unit: unit, median: median(samples), least: samples.min() ?? 0, most: samples.max() ?? 0,
            yardstick: yardstick, ratio: ratios.map(median), goal: goal)
    }

    private static func median(_ values: [Double]) -> Double {
        values.sorted()[values.count / 2]
    }
}

/// Figures as a table of text or as JSON.
struct Table {
    let figures: [Figure]

    init(_ figures: [Figure]) { self.figures = figures }

    var text: String {
        let rows = figures.map { figure in
            let range = "\(Self.short(figure.least))–\(Self.short(figure.most))"
            let ratio = figure.ratio.map { "\(Self.short($0)) × \(figure.yardstick ?? "")" } ?? "–"
            return [figure.name, "\(Self.short(figure.median)) \(figure.unit)", range, ratio, figure.goal ?? "–"]
        }
        let all = [["what", "median", "range", "ratio", "goal"]] + rows
        let widths = (0..<5).map { column in all.map { $0[column].count }.max() ?? 0 }
        var lines = all.map { Self.line($0, widths) }
        lines.insert("|" + widths.map { String(repeating: "-", count: $0 + 2) + "|" }.joined(), at: 1)
        return lines.joined(separator: "\n")
    }

    private static func line(_ cells: [String], _ widths: [Int]) -> String {
        let padded = zip(cells, widths).map { cell, width in
            cell + String(repeating: " ", count: width - cell.count)
        }
        return "| " + padded.joined(separator: " | ") + " |"
    }

    var json: String {
        let rows = figures.map { figure in
            var fields = [
                "\"name\":\"\(figure.name)\"", "\"unit\":\"\(figure.unit)\"", "\"median\":\(figure.median)",
                "\"least\":\(figure.least)", "\"most\":\(figure.most)",
            ]
            if let ratio = figure.ratio { fields.append("\"ratio\":\(ratio)") }
            if let goal = figure.goal { fields.append("\"goal\":\"\(goal)\"") }
            if let yardstick = figure.yardstick { fields.append("\"yardstick\":\"\(yardstick)\"") }
            return "{\(fields.joined(separator: ","))}"
        }
        return "[\(rows.joined(separator: ","))]"
    }

    private static func short(_ value: Double) -> String {
        let scale: Double = value < 10 ? 100 : value < 100 ? 10 : 1
        let rounded = (value * scale).rounded() / scale
        return rounded == rounded.rounded() && scale == 1 ? "\(Int(rounded))" : "\(rounded)"
    }
}
