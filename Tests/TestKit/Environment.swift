import Glibc

/// What Scripts/test tells the tests.
package enum Environment {
  /// A variable, or `nil` when it is not set or empty.
  package static func value(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Whether everything is tried, as in all of `Scripts/test`: `swift test` alone is to take three minutes, and takes a
  /// part of what there is very much of.
  package static var isWhole: Bool { value("SEALIFT_TEST_TARGETS") != nil }
}
