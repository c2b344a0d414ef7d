/// One step, for whoever reads the trace of a loss.
struct Step: CustomStringConvertible {
  enum Actor: String { case network, user, unforget, writer0, writer1, pruner0, pruner1 }

  var actor: Actor
  var what: StaticString
  var names: Names

  init(_ actor: Actor, _ what: StaticString, _ names: Names = 0) {
    self.actor = actor
    self.what = what
    self.names = names
  }

  static func writer(_ index: Int, _ what: StaticString, _ names: Names = 0) -> Step {
    Step(index == 0 ? .writer0 : .writer1, what, names)
  }

  static func pruner(_ index: Int, _ what: StaticString, _ names: Names = 0) -> Step {
    Step(index == 0 ? .pruner0 : .pruner1, what, names)
  }

  var description: String { "\(actor.rawValue) \(what)\(names == 0 ? "" : ": \(Name.text(names))")" }
}
