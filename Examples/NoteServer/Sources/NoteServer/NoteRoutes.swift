import Hummingbird

/// `/notes`: notes for everybody.
struct NoteRoutes: Sendable {
  let store: NoteStore

  func add(to notes: RouterGroup<some RequestContext>) {
    notes.get { request, _ in
      let query = request.uri.queryParameters
      let after = try number(query.get("after"), named: "after", or: 0, in: 0...Int64.max)
      let limit = try number(query.get("limit"), named: "limit", or: 100, in: 1...1000)
      return try await store.notes(after: after, limit: Int(limit))
    }
    notes.post { request, context in
      let note = try await store.add(request.decode(as: NoteText.self, context: context))
      return EditedResponse(status: .created, response: note)
    }
    notes.get(":id") { _, context in try await store.note(id(context)) }
    notes.put(":id") { request, context in
      try await store.change(id(context), to: request.decode(as: NoteText.self, context: context))
    }
    notes.delete(":id") { _, context in
      try await store.remove(id(context))
      return HTTPResponse.Status.noContent
    }
  }

  private func id(_ context: some RequestContext) throws -> Int64 {
    try number(context.parameters.require("id"), named: "id", or: 0, in: 1...Int64.max)
  }

  private func number(
    _ text: String?, named name: String, or standard: Int64, in range: ClosedRange<Int64>
  ) throws -> Int64 {
    guard let text else { return standard }
    guard let number = Int64(text), range.contains(number) else {
      throw Failure(
        .badRequest, code: "badRequest", "'\(name)' is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
