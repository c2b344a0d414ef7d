import Storage

/// The simulated target: what it holds, and the requests that the network still carries.
struct Target {
  var objects: [ObjectName: [UInt8]] = [:]
  /// Requests that will take effect some time: once more, or although their sender was told that they failed.
  var late: [Late] = []

  enum Late {
    case put(ObjectName, [UInt8])
    case delete(ObjectName)

    var name: ObjectName {
      switch self {
      case .put(let name, _), .delete(let name): name
      }
    }
  }

  mutating func apply(_ late: Late) {
    switch late {
    case .put(let name, let bytes): objects[name] = bytes
    case .delete(let name): objects[name] = nil
    }
  }

  func names(_ prefix: String) -> Set<ObjectName> { Set(objects.keys.filter { $0.text.hasPrefix(prefix) }) }
}
