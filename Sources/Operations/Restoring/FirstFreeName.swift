import Sealing

/// A name, or with a number behind it where that is taken: the first that is free. The name itself when a thousand are taken.
func firstFreeName(_ name: String, where isFree: (String) -> Bool) -> String {
  ([name] + (2...999).map { "\(name)-\($0)" }).first(where: isFree) ?? name
}

/// Names of up to 255 bytes leave no room for more: a long one is told by its hash.
func shortName(_ name: String) -> String {
  name.utf8.count <= 100 ? name : String(Digest.sha256(of: Array(name.utf8)).hex.prefix(32))
}
