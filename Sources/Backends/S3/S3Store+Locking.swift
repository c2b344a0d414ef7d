import Storage

extension S3Store {
  /// Why what is stored with a lock may not be locked: some servers take the headers of one, and do nothing by them.
  /// - Returns: `nil` when the bucket says that it locks.
  package func lockDoubt() async -> String? {
    var request = Request("GET", nil)
    request.query = [("object-lock", "")]
    do throws(StoreError) {
      let response = try await send(request)
      switch response.status {
      case 200 where (try? XMLReader.read(response.body, into: LockState()))?.isEnabled == true: return nil
      case 200, 404, 501: return "this bucket locks nothing: objectLock has no effect there"
      case 403:
        return "whether this bucket locks anything could not be asked: that takes the right"
          + " s3:GetBucketObjectLockConfiguration"
      default: return error(response, "whether this bucket locks anything could not be asked", for: .read).message
      }
    } catch {
      return "whether this bucket locks anything could not be asked: \(error.message)"
    }
  }

  /// What a bucket says of its locks.
  private struct LockState: XMLReader.Listener {
    var isEnabled = false

    mutating func began(_ name: XMLName, depth: Int) {}

    mutating func ended(_ name: XMLName, text: String, depth: Int) {
      if depth == 2, name.local == "ObjectLockEnabled" { isEnabled = text.trimmed == "Enabled" }
    }
  }
}
