import Hummingbird

/// Lets only those pass who know the token: whoever may restore may also undo everybody's work.
struct AdminToken<Context: RequestContext>: RouterMiddleware {
  private let expected: [UInt8]

  init(_ token: String) { expected = Array("Bearer \(token)".utf8) }

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard let given = request.headers[.authorization], isExpected(Array(given.utf8)) else {
      throw Failure(
        .unauthorized, code: "unauthorized", "this needs the token of the administrator",
        hint: "Send the header 'Authorization: Bearer TOKEN'.")
    }
    return try await next(request, context)
  }

  /// Takes as long for a near miss as for a far one.
  private func isExpected(_ given: [UInt8]) -> Bool {
    guard given.count == expected.count else { return false }
    return zip(given, expected).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
