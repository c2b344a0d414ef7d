import Storage

/// What a request needs the right to. Who is refused is told of that one alone: credentials that cannot delete protect
/// the versions from whoever takes over the machine that pushes.
enum AccessRight: Sendable {
  case list
  case read
  case write
  case delete

  /// Who needs to delete at all.
  static let deletion =
    "Only `sealift prune`, `sealift key remove` and `sealift doctor` delete; a push needs no right to."
}

extension StoreError {
  /// The way out of a target without room.
  static let makeRoom =
    "`sealift forget`, then `sealift prune` free space; both store small records first: raise the quota, or free a few"
    + " MiB there by other means, for as long as that takes."

  static let proxyLogin = StoreError(
    .unavailable, "a proxy on the way asks for a user and a password",
    hint: "Set them in the address of the proxy that the environment names (https_proxy, http_proxy).", retry: .never)

  /// What servers and the proxies before them say of a request that is larger than they are set to take.
  static let bodyTooLarge = StoreError(
    .full, "the server takes no body of this size",
    hint: "Raise its limit (client_max_body_size in nginx, LimitRequestBody in Apache) to 65 MiB or more.")
}
