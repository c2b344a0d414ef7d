import Glibc
import TestKit
import Testing

/// Scripts as they run. What they would call of the machine are functions of the shell here, which every script that it
/// starts inherits: nothing is installed, built or measured.
@Suite struct ScriptRunTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// Runs lines of bash: `$1` is the package, `$2` a folder of the test's own, and what follows `arguments`.
  private func bash(_ lines: String, _ arguments: String...) async throws -> ProgramEnd {
    try await Child.run(["bash", "-euc", lines, "bash", SourceTree.root, scratch.path] + arguments)
  }

  // MARK: Scripts/install-packages

  @Test(arguments: [("5.10.1", false), ("6.2.3", false), ("6.3", true), ("6.10-dev", true), ("7.0", true)])
  func `an older Swift than the tests need is refused`(release: String, isFine: Bool) async throws {
    let ended = try await bash(
      """
      export RELEASE=$3
      swift() { echo "Swift version $RELEASE (swift-$RELEASE-RELEASE)"; }
      dpkg-query() { echo installed; }
      export -f swift dpkg-query
      exec "$1/Scripts/install-packages" build
      """, release)
    #expect(ended.isSuccess == isFine, "\(ended.error)")
    #expect(isFine || ended.error.contains("install Swift 6.3 or newer"))
    #expect(try SourceTree.text("README.md").contains("Swift 6.3 or newer"))
  }

  /// What stands in the file that keeps packages from starting servers, and whether it is ours.
  static let policies: [(String?, Bool)] = [
    (nil, true), ("#!/bin/sh\n# sealift-install-packages\nexit 101\n", true), ("#!/bin/sh\nexit 104\n", false),
  ]

  /// Neither now, by the file of that name, nor at the next boot, for which packages enable their units.
  @Test(arguments: policies)
  func `no server is started that a package brings`(policy: String?, isOurs: Bool) async throws {
    let ended = try await bash(
      """
      export SEALIFT_SYSTEM=$2
      mkdir -p "$2/usr/sbin" "$2/run/lock"
      [ -z "$3" ] || printf %s "$3" > "$2/usr/sbin/policy-rc.d"
      swift() { :; }
      id() { echo 0; }
      dpkg-query() { [ ! -e "$SEALIFT_SYSTEM/installed" ] || echo installed; }
      apt-get() {
        [ "$1" = install ] || return 0
        cat "$SEALIFT_SYSTEM/usr/sbin/policy-rc.d"
        : > "$SEALIFT_SYSTEM/installed"
      }
      systemctl() {
        case "$*" in
          *disable*) echo "called: systemctl $*" ;;
          *list-unit-files*)
            echo "ssh.service enabled enabled"
            [ ! -e "$SEALIFT_SYSTEM/installed" ] || echo "apache2.service enabled enabled" ;;
        esac
      }
      export -f swift id dpkg-query apt-get systemctl
      exec "$1/Scripts/install-packages" build
      """, policy ?? "")
    #expect(ended.isSuccess, "\(ended.error)")
    #expect(ended.output.contains(isOurs ? "\nexit 101\n" : "\nexit 104\n"), "\(ended.output)")
    let disabled = ended.output.split(separator: "\n").map { String($0) }.filter { $0.hasPrefix("called: ") }
    #expect(disabled == ["called: systemctl --root=\(scratch.path)/ --quiet disable apache2.service"])
    #expect((access(scratch.file("usr/sbin/policy-rc.d"), F_OK) == 0) == !isOurs)
  }

  /// What apt-get answers, by `$n`, the number of its call, and what it is called with then.
  static let mirrors: [(String, [String])] = [
    // Fails for a moment.
    (
      "case $n in 1 | 3) return 100 ;; esac",
      ["all lists", "all lists", "install --download-only", "all lists", "install --download-only", "install -y"]
    ),
    // A source is gone for good.
    (
      #"case "$n $*" in *--error-on=any | "5 "*) return 100 ;; esac"#,
      [
        "all lists", "all lists", "all lists", "update -q", "install --download-only", "update -q",
        "install --download-only", "install -y",
      ]
    ),
    // Another run has the lists.
    (
      #"[ $n -gt 5 ] || { echo "E: Could not get lock /var/lib/apt/lists/lock." >&2; return 100; }"#,
      Array(repeating: "all lists", count: 6) + ["install --download-only", "install -y"]
    ),
    // What is there cannot be installed.
    ("case $2 in -y) return 100 ;; esac", ["all lists", "install --download-only", "install -y"]),
  ]

  @Test(arguments: mirrors)
  func `a mirror that fails for a moment is asked again, with new lists`(
    answer: String, expected: [String]
  ) async throws {
    let ended = try await bash(
      """
      export SEALIFT_SYSTEM=$2
      mkdir -p "$2/usr/sbin" "$2/run/lock"
      swift() { :; }
      id() { echo 0; }
      sleep() { :; }
      systemctl() { :; }
      dpkg-query() { [ ! -e "$SEALIFT_SYSTEM/installed" ] || echo installed; }
      apt-get() {
        local n
        case $* in *--error-on=any) echo "all lists" ;; *) echo "$1 $2" ;; esac >> "$SEALIFT_SYSTEM/calls"
        n=$(wc -l < "$SEALIFT_SYSTEM/calls")
        \(answer)
        case "$1 $2" in "install -y") : > "$SEALIFT_SYSTEM/installed" ;; esac
      }
      export -f swift id sleep systemctl dpkg-query apt-get
      exec "$1/Scripts/install-packages" build
      """)
    #expect(ended.isSuccess == (answer != "case $2 in -y) return 100 ;; esac"), "\(ended.error)")
    let called = String(decoding: try fileBytes(scratch.file("calls")), as: UTF8.self).split(separator: "\n")
    #expect(called.map { String($0) } == expected, "\(ended.output) \(ended.error)")
  }

  // MARK: Scripts/callgrind

  @Test(arguments: [("6.3.1", nil, 1), ("6.4", nil, 0), ("6.4", "true", 1)] as [(String, String?, Int32)])
  func `bounds that something else has counted only warn, but not in CI`(
    release: String, ci: String?, status: Int32
  ) async throws {
    let rest = "sqlite 3.40.1 zstd 1.5.4\n"
    try writeFile(scratch.file("bounds"), Array("# x86_64 avx2 Swift 6.3.1 \(rest)pull hashes 100\n".utf8))
    try writeFile(scratch.file("counted"), Array("# x86_64 avx2 Swift \(release) \(rest)pull hashes 130\n".utf8))
    let ended = try await bash(
      #"cd "$2"; export CI=$3; exec "$1/Scripts/callgrind.d/compare" counted bounds"#, ci ?? "")
    #expect(ended.status == status, "\(ended.output) \(ended.error)")
    #expect(ended.output.contains("more than the bound: pull/hashes\n"))
    #expect(ended.output.contains("# x86_64 avx2 Swift 6.3.1 ") == (release != "6.3.1"))
    #expect(ended.output.contains("# x86_64 avx2 Swift \(release) ") == (release != "6.3.1"))
  }

  @Test(
    arguments: [
      ("130 101 101", 101, 0), ("130 131 129", 129, 0), ("130 101", 101, 1),
    ] as [(String, Int, Int32)])
  func `of three rounds the least counts, and each has to be there`(
    counts: String, least: Int, status: Int32
  ) async throws {
    let ended = try await bash(
      #"for count in $3; do echo "pull hashes $count"; done | "$1/Scripts/callgrind.d/least" 3"#, counts)
    #expect(ended.status == status, "\(ended.output) \(ended.error)")
    #expect(ended.output == "pull hashes \(least)\n")
  }

  @Test func `bounds say by what they were counted`() throws {
    let text = try SourceTree.text("Tests/instruction-counts.txt")
    #expect(text.prefixMatch(of: #/[#] \w+ (?:avx2|plain) Swift [^ ]+ sqlite [\d.]+ zstd [\d.]+\n/#) != nil)
  }

  // MARK: Scripts/test and Scripts/bench

  @Test func `tests that find no Swift say how sudo finds it, before all else`() async throws {
    #expect(mkdir(scratch.file("bin"), 0o700) == 0)
    for name in ["dirname", "readlink"] { #expect(symlink("/usr/bin/\(name)", scratch.file("bin/\(name)")) == 0) }
    let ended = try await Child.run(
      ["/bin/bash", "\(SourceTree.root)/Scripts/test", "--fast"], environment: ["PATH": scratch.file("bin")])
    #expect(ended.status == 1 && ended.output.isEmpty)
    #expect(ended.error.contains(#"sudo env "PATH=$PATH" Scripts/test"#), "\(ended.error)")
  }

  @Test func `servers of a run that was killed are ended, and nobody else's`() async throws {
    let ended = try await bash(
      """
      source "$1/Scripts/servers.d/abandoned.bash"
      cd "$2"
      mkdir -p sealift-test.killed/servers/nginx sealift-test.living sealift-test.nobody sealift-test.others
      ln -s sealift-test.killed sealift-test.a-link
      own sealift-test.living
      echo "$$ 1 $(readlink /proc/self/ns/pid)" > sealift-test.killed/owner
      echo "$$ 1 pid:[1]" > sealift-test.others/owner
      : > sealift-test.killed/servers/.sealift-servers
      setsid sleep 100 > /dev/null 2>&1 &
      server=$!
      until [ "$(ps -o sid= -p $server | tr -d ' ')" = $server ]; do sleep 0.02; done
      echo "$server nginx $(start_time $server)" > sealift-test.killed/servers/nginx/pids
      end_abandoned .
      ls
      wait $server || echo "ended by $?"
      """)
    #expect(ended.isSuccess, "\(ended.error)")
    let left = ["a-link", "living", "nobody", "others"].map { "sealift-test.\($0)\n" }.joined()
    #expect(ended.output == left + "ended by 143\n", "\(ended.error)")
  }

  @Test func `a measurement is kept where the person said, from where they stand`() async throws {
    let ended = try await bash(
      #"id() { echo 1000; }; export -f id; cd "$2"; exec "$1/Scripts/bench" --out measured"#)
    #expect(ended.status == 1 && ended.error.contains("must run as root"), "\(ended.error)")
    #expect(access(scratch.file("measured"), F_OK) == 0)
  }
}
