import FoundationEssentials
import TestKit
import Testing

@testable import Sealing

/// Files kept for ever: every later program must read them, or refuse them, exactly so.
@Suite struct VectorTests {
  @Test(arguments: try! Vector.names())
  func `Every vector is read, or refused, as it says`(name: String) throws {
    let vector = try Vector(named: name)
    if vector.expect == "success" {
      #expect(Digest.sha256(of: try vector.read()) == vector.content)
    } else {
      let expected = try #require(Vector.failures[vector.expect])
      #expect(failure { _ = try vector.read() } == expected)
      Fault.replayed.met("hostile vector")
    }
  }

  /// With `SEALIFT_WRITE_VECTORS` set, the files are made anew: for a new version of the format, never for an old one.
  @Test func `Every recipe has its file and every file its recipe`() throws {
    let recipes = try VectorRecipes.all()
    if ProcessInfo.processInfo.environment["SEALIFT_WRITE_VECTORS"] != nil {
      for vector in recipes { try vector.write() }
    }
    #expect(Set(recipes.map(\.name)) == Set(try Vector.names()))
    #expect(Set(recipes.map(\.expect)) == Set(Vector.failures.keys).union(["success"]))
  }

  /// What does not depend on a compressor comes out the same today as on the day it was written.
  @Test func `The sealer still writes the same bytes`() throws {
    for name in ["pack-raw", "condemned", "tombstone", "annotation", "configuration", "keyring", "slot-key-file"] {
      let recipe = try #require(try VectorRecipes.all().first { $0.name == name })
      #expect(recipe.bytes == (try Vector(named: name).bytes), "\(name)")
    }
  }
}
