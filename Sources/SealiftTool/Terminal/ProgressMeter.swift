import Sealift

/// Turns reports of progress into what a person sees: a bar redrawn at most ten times a second, or a line every 30 s.
///
/// Pure: time comes in, text goes out.
struct ProgressMeter: Sendable {
  enum Manner: Sendable {
    case bar
    case lines
    case silent
  }

  enum Output: Equatable {
    case bar(String)
    case line(String)
  }

  private let manner: Manner
  private var subject = ""
  private var stage: Progress.Stage?
  private var stageBegan = 0.0
  /// When something was shown last; in lines, the beginning of the work counts as such: short work stays silent.
  private var lastShown: Double?

  init(_ manner: Manner) { self.manner = manner }

  /// - Parameters:
  ///   - now: seconds on a clock that only goes forward.
  ///   - width: columns of the terminal, which is asked where a bar is drawn: somebody may have made it another one.
  mutating func update(
    _ progress: Progress, at now: Double, within width: @autoclosure () -> Int = Table.usualWidth
  ) -> Output? {
    let isNew = progress.stage != stage || progress.subject != subject
    if isNew {
      stage = progress.stage
      subject = progress.subject
      stageBegan = now
    }
    switch manner {
    case .silent: return nil
    case .bar:
      guard isNew || now - (lastShown ?? 0) >= 0.1 else { return nil }
      lastShown = now
      return .bar(bar(progress, now, within: width()))
    case .lines:
      guard let last = lastShown else {
        lastShown = now
        return nil
      }
      guard now - last >= 30 else { return nil }
      lastShown = now
      return .line("\(title(progress)): \(figures(progress, now).joined(separator: ", "))")
    }
  }

  /// `app: sealing   [#####---------------]  26 %  31.0 MiB of 120.0 MiB  15.5 MiB/s  0:06 left`, under 80 columns,
  /// and less than the terminal's: what is wrapped is not drawn over.
  private func bar(_ progress: Progress, _ now: Double, within width: Int) -> String {
    var parts = ["\(narrowed(printable(progress.subject), to: 14)): \(progress.stage)"]
    if let share = share(progress) {
      let filled = Int(share * 16)
      parts.append("[\(String(repeating: "#", count: filled))\(String(repeating: "-", count: 16 - filled))]")
    }
    return narrowed((parts + figures(progress, now)).joined(separator: "  "), to: max(1, min(79, width - 1)))
  }

  private func title(_ progress: Progress) -> String {
    "\(shortened(printable(progress.subject), to: 14)): \(progress.stage)"
  }

  private func figures(_ progress: Progress, _ now: Double) -> [String] {
    var figures: [String] = []
    if let share = share(progress) { figures.append("\(Int(share * 100)) %") }
    figures.append(ByteCount.text(progress.bytesDone))
    let seconds = now - stageBegan
    guard seconds >= 1, progress.bytesDone > 0 else { return figures }
    let rate = Double(progress.bytesDone) / seconds
    figures.append("\(ByteCount.text(Int(rate)))/s")
    if let total = progress.bytesTotal, total > progress.bytesDone {
      figures.append("\(clock(Double(total - progress.bytesDone) / rate)) left")
    }
    return figures
  }

  private func share(_ progress: Progress) -> Double? {
    guard let total = progress.bytesTotal, total > 0 else { return nil }
    return min(1, Double(progress.bytesDone) / Double(total))
  }

  private func clock(_ seconds: Double) -> String {
    let whole = Int(min(seconds, 359_999).rounded(.up))
    let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
    return whole < 3600
      ? "\(whole / 60):\(two(whole % 60))" : "\(whole / 3600):\(two(whole / 60 % 60)):\(two(whole % 60))"
  }
}

/// At most `width` columns of a terminal, with an ellipsis when something was cut. A character beyond ASCII counts as
/// two, which is what the widest take.
private func narrowed(_ text: String, to width: Int) -> String {
  let columns = { (character: Character) in character.isASCII ? 1 : 2 }
  guard text.reduce(0, { $0 + columns($1) }) > width else { return text }
  var left = width - columns("…")
  let kept = text.prefix { character in
    left -= columns(character)
    return left >= 0
  }
  return kept + "…"
}

/// At most `width` characters, the last one an ellipsis when something was cut.
func shortened(_ text: String, to width: Int) -> String {
  text.utf8.count <= width || text.count <= width ? text : text.prefix(width - 1) + "…"
}
