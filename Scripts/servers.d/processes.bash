# Which of our processes live. Sourced, never run.

# When a living process started, in clock ticks since boot; empty when there is none (a zombie is none).
# Pid and start time together name one process for good: pids are used again, both together are not.
start_time() {
  # The second field, the program's name, may hold spaces and brackets: everything up to the last one goes.
  sed -n 's/.*) //; /^[^ZX]/p' "/proc/$1/stat" 2> /dev/null | cut -d ' ' -f 20 || true
}

# living FOLDER: the pids of a server's recorded processes that are still the ones we started.
living() {
  local pid name started
  [ -e "$1/pids" ] || return 0
  while read -r pid name started; do
    [ -z "$started" ] || [ "$(start_time "$pid")" != "$started" ] || echo "$pid"
  done < "$1/pids"
}

# remaining FOLDER: the living, and what they started, also when the recorded process itself was killed.
# Each recorded process leads a session. As long as that has members, the kernel gives its number to nobody else: so
# either its leader is the one we know, or there is no leader and the members are ours.
remaining() {
  local pid name started now member
  [ -e "$1/pids" ] || return 0
  while read -r pid name started; do
    now=$(start_time "$pid")
    [ -z "$now" ] || [ "$now" = "$started" ] || continue
    for member in $(pgrep -s "$pid" || true); do
      [ -z "$(start_time "$member")" ] || echo "$member"
    done
  done < "$1/pids"
}
