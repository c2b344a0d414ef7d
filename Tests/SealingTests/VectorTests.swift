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

  /// With `SEALIFT_WRITE_VECTORS` set, what has no file gets one; a file that is there is never made anew.
  @Test func `Every recipe has its file and every file its recipe`() throws {
    let recipes = try VectorRecipes.all()
    if ProcessInfo.processInfo.environment["SEALIFT_WRITE_VECTORS"] != nil {
      let written = Set(try Vector.names())
      for vector in recipes where !written.contains(vector.name) { try vector.write() }
    }
    #expect(Set(recipes.map(\.name)) == Set(try Vector.names()))
    #expect(Set(recipes.map(\.expect)) == Set(Vector.failures.keys).union(["success"]))
  }

  /// What does not depend on a compressor comes out the same today as on the day it was written.
  @Test func `The sealer still writes the same bytes`() throws {
    let recipes = try VectorRecipes.all()
    for name in [
      "pack-raw", "manifest-file", "manifest-remarks", "condemned", "tombstone", "annotation", "annotation-kinds",
      "configuration", "keyring", "slot-key-file",
    ] {
      let recipe = try #require(recipes.first { $0.name == name })
      #expect(recipe.bytes == (try Vector(named: name).bytes), "\(name)")
    }
  }

  /// That bytes came out of a vector does not say that anybody understood them.
  @Test func `What remarks and annotations of vectors say is understood`() throws {
    let remarks = try ManifestBody(decoding: meta(of: "manifest-remarks", .manifest)).remarks
    #expect(remarks == VectorRecipes.remarks)
    let passedOver = try ManifestBody(decoding: meta(of: "manifest-remarks-unreadable", .manifest)).remarks
    #expect(passedOver == Remarks(others: passedOver.others))
    #expect(passedOver.others.keys.sorted() == [1, 2, 3, 4, 0x7FFF])
    let annotation = try Annotation(decoding: meta(of: "annotation-kinds", .annotation))
    #expect(annotation == VectorRecipes.everyKind)
  }

  private func meta(of name: String, _ kind: ObjectKind) throws -> [UInt8] {
    try OpenedObject.open(try Vector(named: name).bytes, kind: kind, name: nil, keys: Fixed.keys).directory.meta
  }
}
