# What runs of Scripts/test that were killed (kill -9, no memory) have left behind: servers, and the folder they are in.
# Sourced, never run.

source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/processes.bash"

# own FOLDER: notes that this script is whom it belongs to.
own() {
  echo "$$ $(start_time $$) $(readlink /proc/self/ns/pid)" > "$1/owner"
}

# is_abandoned FOLDER: it is ours, somebody owned it, and that process is gone. In another container, which may share the
# place with us, processes have other numbers: nothing is known of them here.
is_abandoned() {
  local pid started space
  [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && [ -f "$1/owner" ] || return 1
  read -r pid started space < "$1/owner" || return 1
  [ "$space" = "$(readlink /proc/self/ns/pid)" ] && [ "$(start_time "$pid")" != "$started" ]
}

# end_abandoned PLACE: stops the servers of such folders there, and removes them. What is mounted in one stays.
end_abandoned() {
  local folder servers
  servers=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../servers
  for folder in "$1"/sealift-test.??????; do
    is_abandoned "$folder" || continue
    SEALIFT_SERVERS=$folder/servers "$servers" stop || true
    rm -rf --one-file-system "$folder" || true
  done
}
