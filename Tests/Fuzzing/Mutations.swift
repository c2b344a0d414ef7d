/// Small changes of given inputs, the same ones for the same seed: what libFuzzer does, without its compiler and its memory
/// of what was new.
struct Mutations<Random: RandomNumberGenerator> {
  private static var telling: [UInt8] { [0, 1, 0x20, 0x2D, 0x2F, 0x7F, 0x80, 0xFE, 0xFF] }
  private static var longest: Int { 64 << 10 }

  private let seeds: [[UInt8]]
  private var random: Random

  /// - Parameter seeds: at least one.
  init(of seeds: [[UInt8]], _ random: Random) {
    self.seeds = seeds
    self.random = random
  }

  mutating func next() -> [UInt8] {
    var bytes = seeds.randomElement(using: &random) ?? []
    for _ in 0..<Int.random(in: 1...4, using: &random) { change(&bytes) }
    return Array(bytes.prefix(Self.longest))
  }

  private mutating func change(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else { return bytes.append(UInt8.random(in: .min ... .max, using: &random)) }
    let place = Int.random(in: 0..<bytes.count, using: &random)
    let end = min(bytes.count, place + Int.random(in: 1...8, using: &random))
    let value = Self.telling.randomElement(using: &random) ?? 0
    switch Int.random(in: 0..<9, using: &random) {
    case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: for index in place..<end { bytes[index] = value }
    case 2: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
    case 3: bytes[place] = bytes[place] &+ (Bool.random(using: &random) ? 1 : 255)
    case 4: bytes.removeSubrange(place..<end)
    case 5: bytes.insert(contentsOf: bytes[place..<end], at: place)
    case 6: bytes.removeSubrange(place...)
    case 7: bytes.insert(value, at: place)
    default:
      if let other = seeds.randomElement(using: &random) { bytes = Array(bytes[..<place] + other.dropFirst(place)) }
    }
  }
}
