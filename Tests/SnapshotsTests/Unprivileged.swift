import Glibc
import Testing

/// A user who owns nothing here.
let nobody: uid_t = 65534

/// Makes this process an ordinary one: root may write to folders that are not writable. For exit tests only. Run
/// by someone who is not root, it already is.
func dropPrivileges() {
  guard geteuid() == 0 else { return }
  guard setgroups(0, nil) == 0, setgid(nobody) == 0, setuid(nobody) == 0 else {
    fatalError("cannot become nobody")
  }
}
