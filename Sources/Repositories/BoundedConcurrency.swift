/// Runs `body` for every element, at most `atOnce` at a time, and returns the results in the elements' order.
/// The first error cancels the rest.
package func bounded<Element: Sendable, Result: Sendable>(
  _ elements: [Element], atOnce limit: Int, _ body: @escaping @Sendable (Element) async throws -> Result
) async throws -> [Result] {
  try await bounded(elements, atOnce: limit, within: .max, of: { _ in 0 }, body)
}

/// The same for objects that are fetched whole: those that are on their way have no more bytes than `room` together, and
/// what is longer is on its way alone. Who can write to the target can plant any number of the longest.
/// - Parameter length: of an element, in bytes.
package func bounded<Element: Sendable, Result: Sendable>(
  _ elements: [Element], atOnce limit: Int, within room: Int, of length: @Sendable (Element) -> Int,
  _ body: @escaping @Sendable (Element) async throws -> Result
) async throws -> [Result] {
  try await withThrowingTaskGroup(of: (Int, Result).self) { group in
    var results = [Result?](repeating: nil, count: elements.count)
    var (next, running, held) = (0, 0, 0)
    while true {
      while next < elements.count, running == 0 || running < limit && length(elements[next]) <= room - held {
        let index = next
        group.addTask { (index, try await body(elements[index])) }
        running += 1
        held += length(elements[index])
        next += 1
      }
      guard let (index, result) = try await group.next() else { break }
      results[index] = result
      running -= 1
      held -= length(elements[index])
    }
    return results.compactMap { $0 }
  }
}
