import Hummingbird

/// What went wrong, for a person: every error that leaves this server is one, as JSON with `code`, `message` and `hint`.
struct Failure: Error, Sendable {
  var status: HTTPResponse.Status
  /// One word that programs can rely on.
  var code: String
  /// Lower case, without a full stop.
  var message: String
  /// What to do about it: a whole sentence.
  var hint: String?

  init(_ status: HTTPResponse.Status, code: String, _ message: String, hint: String? = nil) {
    self.status = status
    self.code = code
    self.message = message
    self.hint = hint
  }
}

extension Failure: HTTPResponseError {
  private struct Document: Encodable {
    var code: String
    var message: String
    var hint: String?
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    let document = Document(code: code, message: message, hint: hint)
    var response = try context.responseEncoder.encode(document, from: request, context: context)
    response.status = status
    if status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
    return response
  }
}

extension Failure: CustomStringConvertible {
  var description: String { hint.map { "\(message)\nhint: \($0)" } ?? message }
}
