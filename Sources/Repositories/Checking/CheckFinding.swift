import Storage

/// Something at the target that is not as it should be.
package struct CheckFinding: Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    /// An object that must be there is not.
    case missing
    /// It is there, shorter or longer than it must be.
    case cut
    /// Its bytes are not those that were stored.
    case damaged
    /// A prune noted it for deletion, though a version needs it: no prune that sees the version deletes it.
    case condemned
    /// Authentic, but what it says cannot be.
    case wrong
    /// Of a later format: only a newer program can say whether it is as it should be.
    case later
    /// Whole, but restoring costs more than it should, or than the manifest says.
    case costly
    /// Broken, but nothing needs it: what it says stands elsewhere.
    case spare
  }

  /// The object's name at the target, or the beginning of it where nobody can know the rest.
  package let object: String
  package let kind: Kind
  /// What is wrong with it: lower case, no full stop.
  package let what: String
  /// What to do, as a whole sentence.
  package let hint: String?
  /// Something that versions may hang on could not be looked at because of it.
  package let leavesDoubt: Bool

  /// - Parameter isPassedOver: of a later format, and every program goes on without it.
  package init(_ object: String, _ kind: Kind, _ what: String, hint: String? = nil, isPassedOver: Bool = false) {
    self.object = object
    self.kind = kind
    self.what = what
    self.hint = hint
    leavesDoubt = kind == .later && !isPassedOver
  }

  init(_ object: ObjectName, _ kind: Kind, _ what: String, hint: String? = nil) {
    self.init(object.text, kind, what, hint: hint)
  }

  /// A pack that cannot be opened, or that the target does not give.
  static func damaged(pack name: ObjectName, _ error: any Error) -> CheckFinding {
    let refusal = (error as? StoreError) ?? ((error as? RepositoryError)?.cause as? StoreError)
    let reason = refusal?.message ?? "\(error)"
    return CheckFinding(name, .damaged, "a pack cannot be read: \(reason)", hint: refusal?.hint)
  }

  /// It is not there, or not in its length: whoever lists the target sees that.
  package var isGone: Bool { kind == .missing || kind == .cut }

  /// Whether something is lost, or near it; the rest are remarks, or leave doubt.
  package var isDamage: Bool { ![.condemned, .later, .costly, .spare].contains(kind) }
}
