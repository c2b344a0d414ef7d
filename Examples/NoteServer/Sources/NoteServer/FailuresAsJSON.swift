import GRDB
import Hummingbird

/// Gives every error one form, and keeps what only the log should know out of answers.
struct FailuresAsJSON<Context: RequestContext>: RouterMiddleware {
  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch {
      let failure = known(error)
      if failure.status.kind == .serverError {
        context.logger.error(
          "request failed",
          metadata: ["path": "\(request.uri.path)", "code": "\(failure.code)", "error": "\(described(error))"])
      }
      throw failure
    }
  }

  /// Without anything of a note: an error that a row gave rise to may well quote it.
  private func described(_ error: any Error) -> String {
    switch error {
    case let failure as Failure: "\(failure)"
    case let error as DatabaseError: "\(error)"
    default: "\(type(of: error))"
    }
  }

  private func known(_ error: any Error) -> Failure {
    switch error {
    case let failure as Failure: failure
    case let error as HTTPError where error.status == .notFound:
      Failure(.notFound, code: "notFound", "there is nothing at this path")
    case let error as HTTPError:
      Failure(error.status, code: "badRequest", error.body ?? error.status.reasonPhrase)
    case let error as DatabaseError where error.resultCode == .SQLITE_BUSY:
      Failure(.serviceUnavailable, code: "databaseBusy", "the database was locked for too long", hint: "Try again.")
    default:
      Failure(.internalServerError, code: "internal", "the request could not be answered", hint: "The log says why.")
    }
  }
}
