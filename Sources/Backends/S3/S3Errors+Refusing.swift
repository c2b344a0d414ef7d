import Storage

/// What the server does not allow, and what it refuses alike: more than there is room for.
extension S3Errors {
  func forbidden(_ right: AccessRight, _ refusal: S3Refusal?) -> StoreError {
    if let limit = Self.limit(refusal, right) { return limit }
    if refusal?.message.contains("kms:") == true { return Self.noKey }
    let hint =
      switch right {
      case .list: "Give this key the right to list the bucket (s3:ListBucket)."
      case .read:
        "Give this key the right to read objects (s3:GetObject). Without s3:ListBucket, servers say the same of what is"
          + " not there."
      case .write where configuration.objectLock != nil:
        "Give this key the rights to store and to lock objects (s3:PutObject and s3:PutObjectRetention); the latter is"
          + " for the target's objectLock."
      case .write: "Give this key the right to store objects (s3:PutObject)."
      case .delete: "\(AccessRight.deletion) Run this with a key that has s3:DeleteObject."
      }
    return StoreError(.forbidden, "the server does not allow it", hint: hint)
  }

  /// Amazon names the action that it missed: who may use the bucket need not be allowed to use its key.
  private static let noKey = StoreError(
    .forbidden, "the server does not allow it",
    hint: "Give this key the rights kms:GenerateDataKey and kms:Decrypt of the KMS key that the bucket encrypts with.")

  /// Garage and Backblaze refuse what goes beyond a limit as they refuse what is not allowed: only the words differ.
  private static func limit(_ refusal: S3Refusal?, _ right: AccessRight) -> StoreError? {
    let words = refusal?.message.lowercased() ?? ""
    if words.contains("cap exceeded") { return right == .write ? full : noTraffic }
    return right == .write && words.contains("quota is reached") ? full : nil
  }

  /// The way out of a bucket without room: where it keeps versions, what is deleted goes on to take its room.
  static let makeRoom =
    "`sealift forget`, then `sealift prune` free space, unless the bucket keeps older versions (Backblaze's do, and"
    + " every bucket with Object Lock): there only a lifecycle rule for noncurrent versions does. Both store small"
    + " records first: raise the quota, or free a few MiB there by other means, for as long as that takes."

  static let full = StoreError(.full, "there is no room for it", hint: makeRoom)

  static let noTraffic = StoreError(
    .full, "the account's traffic limit is used up",
    hint: "Raise the limit where the account is kept, or wait until its next period begins.")
}
