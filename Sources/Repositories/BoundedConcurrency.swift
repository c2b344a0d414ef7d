/// Runs `body` for every element, at most `atOnce` at a time, and returns the results in the elements' order.
/// The first error cancels the rest.
package func bounded<Element: Sendable, Result: Sendable>(
  _ elements: [Element], atOnce limit: Int, _ body: @escaping @Sendable (Element) async throws -> Result
) async throws -> [Result] {
  try await withThrowingTaskGroup(of: (Int, Result).self) { group in
    var results = [Result?](repeating: nil, count: elements.count)
    var next = 0
    while next < min(max(1, limit), elements.count) {
      let index = next
      group.addTask { (index, try await body(elements[index])) }
      next += 1
    }
    for try await (index, result) in group {
      results[index] = result
      guard next < elements.count else { continue }
      let following = next
      group.addTask { (following, try await body(elements[following])) }
      next += 1
    }
    return results.compactMap { $0 }
  }
}
