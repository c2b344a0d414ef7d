import Storage
import Testing

/// Which numbers say nothing of whose a file is.
@Suite struct UserNamespaceTests {
  @Test func `on the machine itself nobody is unknown`() {
    for map in ["         0          0 4294967295\n", nil] {
      let machine = UserNamespace(users: map, groups: map, unknownUser: "65534\n", unknownGroup: "65534\n")
      for number: UInt32 in [0, 1000, 65534] {
        #expect(!machine.isUnknown(user: number) && !machine.isUnknown(group: number))
      }
    }
  }

  @Test func `in a container with users of its own one number stands for all others`() {
    let map = "         0       1000          1\n         1     100000      65536\n"
    let container = UserNamespace(users: map, groups: "0 0 1", unknownUser: "65534\n", unknownGroup: "60001\n")
    #expect(container.isUnknown(user: 65534) && !container.isUnknown(user: 60001) && !container.isUnknown(user: 0))
    #expect(container.isUnknown(group: 60001) && !container.isUnknown(group: 65534))
    // Nobody at all is known, and the number is not told.
    let empty = UserNamespace(users: "", groups: "")
    #expect(empty.isUnknown(user: 65534) && empty.isUnknown(group: 65534))
  }
}
