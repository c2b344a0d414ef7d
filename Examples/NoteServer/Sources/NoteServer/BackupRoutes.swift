import Hummingbird

/// `/backup`, `/backups` and `/restore`: for the administrator.
struct BackupRoutes: Sendable {
  let backups: Backups

  func add(to admin: RouterGroup<some RequestContext>) {
    // 201: a new version; 200: nothing has changed since the newest one.
    admin.post("backup") { request, _ in
      let version = try await backups.push(tags: request.uri.queryParameters.getAll("tag"))
      return EditedResponse(status: version.unchanged ? .ok : .created, response: version)
    }
    admin.get("backups") { _, _ in try await backups.versions() }
    admin.post("restore/:id") { _, context in try await backups.restore(context.parameters.require("id")) }
  }
}

extension BackupVersion: ResponseEncodable {}
extension Backups.Restored: ResponseEncodable {}
