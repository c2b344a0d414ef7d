import Sealing
import Storage

extension ChainView {
  /// The objects of manifests that count no more.
  var deadManifests: [ObjectInfo] {
    (live.dead.map(\.name) + ruined).map { ObjectInfo(name: $0.objectName, size: $0.length) }
  }
}
