import Sealing
import Storage

extension Error {
  /// Whether it says that what was read is of a later format. That is as its writer left it, as far as anybody here can
  /// know: no damage, and nothing that this program could write better.
  var isLater: Bool {
    switch self {
    case let error as SealError: error.code == .unsupported
    case let error as RepositoryError: error.code == .unsupported || error.cause?.isLater == true
    default: false
    }
  }
}

extension CheckFinding {
  /// Of an object that a later program wrote.
  /// - Parameter isPassedOver: as of the initializer.
  static func later(_ object: ObjectName, _ title: String, isPassedOver: Bool = false) -> CheckFinding {
    CheckFinding(
      object.text, .later, "\(title) is of a later format", hint: "Install a newer sealift.",
      isPassedOver: isPassedOver)
  }
}
