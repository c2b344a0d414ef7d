// swift-tools-version: 6.2
import PackageDescription

/// The house rules every target of ours is built by.
let house: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

// Targets stand in dependency order, lowest first; Tests/TidyTests keeps the direction of their imports.
//
// A target names every module of ours beneath it, also those that it does not import. SwiftPM builds a target anew when
// a module that it names has changed, not when one further down has (swiftlang/swift#89636); but a program holds the
// layout of types from all the way down, and one that is built half anew crashes. Tests/TidyTests keeps this as well.
let package = Package(
  name: "sealift",
  products: [
    // All of them for the same reason; what an application imports is Sealift.
    .library(
      name: "Sealift",
      targets: ["Sealift", "Operations", "Repositories", "Backends", "Storage", "Sealing", "Snapshots", "Platform"]),
    .executable(name: "sealift", targets: ["SealiftTool"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
  ],
  targets: [
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),

    // The system's C library under one name, and what differs from system to system.
    .target(name: "Platform", dependencies: ["CLinux"], swiftSettings: house),
    // Consistent copies of live databases; alone talks to SQLite.
    .target(name: "Snapshots", dependencies: ["Platform", "CSQLite"], swiftSettings: house),
    // The sealed format: bytes in, bytes out, without files, network or clock.
    .target(name: "Sealing", dependencies: ["COpenSSL", "CZstd"], swiftSettings: house),
    // The door to every target, and what may stand around it: retries, limits.
    .target(name: "Storage", swiftSettings: house),
    // Folders, S3 and WebDAV behind that door: they see opaque bytes.
    .target(
      name: "Backends", dependencies: ["Platform", "Storage", "CCurl", "CExpat", "COpenSSL"], swiftSettings: house),
    // Sealed versions at one target, and the order in which they are written and deleted.
    .target(name: "Repositories", dependencies: ["Sealing", "Storage"], swiftSettings: house),
    // What a person does: push, restore, forget, prune. Receives stores as values and never prints.
    .target(
      name: "Operations", dependencies: ["Platform", "Snapshots", "Repositories", "Sealing", "Storage", "CLinux"],
      swiftSettings: house),
    // The library, for applications; what it does not say `public` of stays inside this package.
    .target(
      name: "Sealift",
      dependencies: ["Operations", "Repositories", "Backends", "Storage", "Sealing", "Snapshots", "Platform"],
      swiftSettings: house),
    // The command line: alone prints, exits, parses arguments.
    .executableTarget(
      name: "SealiftTool",
      dependencies: [
        "Sealift", "Operations", "Repositories", "Backends", "Storage", "Sealing", "Snapshots", "Platform",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: house),

    // What the suites share: databases, stores that fail, programs that are started.
    .target(
      name: "TestKit", dependencies: ["Storage", "CSQLite"], path: "Tests/TestKit", swiftSettings: house),
    .testTarget(
      name: "SnapshotsTests", dependencies: ["Snapshots", "Platform", "Storage", "TestKit"], swiftSettings: house),
    .testTarget(
      name: "SealingTests", dependencies: ["Sealing", "Storage", "CZstd", "COpenSSL", "TestKit"],
      exclude: ["Vectors"], swiftSettings: house),
    .testTarget(name: "StorageTests", dependencies: ["Storage", "TestKit"], swiftSettings: house),
    .testTarget(
      name: "BackendsTests", dependencies: ["Backends", "Platform", "Storage", "CCurl", "COpenSSL", "TestKit"],
      swiftSettings: house),
    .testTarget(
      name: "RepositoriesTests", dependencies: ["Repositories", "Sealing", "Storage", "TestKit", "CZstd"],
      swiftSettings: house),
    .testTarget(
      name: "OperationsTests",
      dependencies: [
        "Operations", "Platform", "Repositories", "Sealing", "Snapshots", "Storage", "Backends", "TestKit",
      ],
      swiftSettings: house),
    .testTarget(
      name: "LibraryTests",
      dependencies: [
        "Sealift", "Operations", "Repositories", "Backends", "Storage", "Sealing", "Snapshots", "Platform",
        "TestKit", "CSQLite",
      ],
      exclude: ["Client"], swiftSettings: house),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "SealiftTool", "Sealift", "Operations", "Repositories", "Backends", "Storage", "Sealing", "Snapshots",
        "Platform", "TestKit",
      ], swiftSettings: house),
    // Every interleaving of push, forget, unforget and prune, searched: Scripts/campaigns/model builds and runs it.
    .executableTarget(
      name: "ProtocolModel", path: "Tests/ProtocolModel", exclude: ["README.md"], swiftSettings: house),
    // Seeded worlds of hosts, network and target around the real code: Scripts/campaigns/simulate builds and runs it.
    .executableTarget(
      name: "Simulator",
      dependencies: ["Operations", "Repositories", "Storage", "Sealing", "Snapshots", "Platform"],
      path: "Tests/Simulator", swiftSettings: house),
    .testTarget(
      name: "SimulatorTests",
      dependencies: [
        "ProtocolModel", "Simulator", "Operations", "Repositories", "Storage", "Sealing", "Snapshots", "Platform",
        "TestKit",
      ], swiftSettings: house),
    // What Scripts/campaigns/fuzz feeds with libFuzzer; the suite feeds the same parsers without it.
    .testTarget(
      name: "FuzzingTests",
      dependencies: [
        "SealiftTool", "Sealift", "Operations", "Repositories", "Backends", "Storage", "Sealing", "Snapshots",
        "Platform", "TestKit",
      ],
      path: "Tests/Fuzzing", exclude: ["LibFuzzer.swift"], swiftSettings: house),
    .testTarget(name: "TidyTests", dependencies: ["Storage", "TestKit"], swiftSettings: house),
  ]
)
