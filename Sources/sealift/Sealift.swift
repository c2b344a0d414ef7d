import ArgumentParser

@main
struct Sealift: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "sealift")
}
