/// A name, or with a number behind it where that is taken: the first that is free. The name itself when a thousand are taken.
func firstFreeName(_ name: String, where isFree: (String) -> Bool) -> String {
  ([name] + (2...999).map { "\(name)-\($0)" }).first(where: isFree) ?? name
}
