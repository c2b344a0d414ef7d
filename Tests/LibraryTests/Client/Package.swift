// swift-tools-version: 6.2
import PackageDescription

// A package of somebody else's: it sees of ours what is `public`, and nothing else. `Scripts/check-library` builds and runs it.
let package = Package(
  name: "client",
  dependencies: [.package(name: "sealift", path: "../../..")],
  targets: [
    .executableTarget(
      name: "client", dependencies: [.product(name: "Sealift", package: "sealift")],
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)])
  ]
)
