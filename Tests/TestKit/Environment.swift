import Glibc

/// What Scripts/test tells the tests.
package enum Environment {
  /// A variable, or `nil` when it is not set or empty.
  package static func value(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }
}
