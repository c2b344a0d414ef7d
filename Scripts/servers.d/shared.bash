# What the files in Scripts/servers.d have in common. Sourced, never run.
#
# A server file runs as `NAME FOLDER`: it makes FOLDER its whole world (configuration, data, logs), launches its
# processes, waits until the server answers a signed or logged-in request, and leaves FOLDER/targets behind: one JSON
# object per line, in the shape of targets.json.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
source "$here/processes.bash"
python=/usr/bin/python3

# Reserves `count` free ports on 127.0.0.1 and prints them in one line.
free_ports() {
  $python -I "$here/free-ports" "$1"
}

# A random secret of letters and digits, safe in every configuration file. 128 bits.
secret() {
  od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

# launch NAME COMMAND…: starts a process of the server, in a process group of its own, its output in log/NAME.
# Pid, name and start time go to FOLDER/pids, so that `servers stop` never ends a stranger that got the same pid.
launch() {
  local name=$1
  shift
  # It notes itself before it becomes the server: a start that is killed leaves nothing that nobody knows of.
  setsid bash -c 'source "$1"; echo "$$ $2 $(start_time $$)" >> "$3"; shift 3; exec "$@"' \
    launch "$here/processes.bash" "$name" "$folder/pids" "$@" < /dev/null >> "$folder/log/$name" 2>&1 &
}

# wait_until WHAT COMMAND…: tries the command for ten minutes, as compilers may have the machine; gives up at once when one
# of our processes has died.
wait_until() {
  local what=$1 deadline=$((SECONDS + 600)) pid started name
  shift
  until "$@" > "$folder/log/waiting" 2>&1; do
    while read -r pid name started; do
      [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ] || give_up "$name ended before $what"
    done < "$folder/pids"
    [ $SECONDS -lt $deadline ] || give_up "waited 600 s in vain until $what"
    sleep 0.1
  done
}

give_up() {
  echo "$(basename "$0"): $1" >&2
  exit 1
}

# Whether a WebDAV server lists its collection to someone who logs in: answers_webdav URL [CURL OPTION…]
# User and password come from $user and $password, by standard input, so that `ps` does not show them.
answers_webdav() {
  local url=$1
  shift
  curl --silent --show-error --fail --max-time 5 --noproxy '*' --config - "$@" --request PROPFIND --header 'Depth: 0' \
    --output /dev/null "$url/" <<< "user = \"$user:$password\""
}

# Announces an S3 target: s3_target NAME ENDPOINT STYLE [MEMBERS]. Uses $access_key and $secret_key.
s3_target() {
  printf '{"name":"%s","kind":"s3","endpoint":"%s","bucket":"sealift","accessKey":"%s","secretKey":"%s",' \
    "$1" "$2" "$access_key" "$secret_key" >> "$folder/targets"
  printf '"region":"us-east-1",%s"style":"%s","caFile":null}\n' "${4-}" "$3" >> "$folder/targets"
}

# Announces a WebDAV target: webdav_target NAME URL basic|digest [CA FILE]. Uses $user and $password.
webdav_target() {
  local ca=null
  [ $# -lt 4 ] || ca="\"$4\""
  printf '{"name":"%s","kind":"webdav","url":"%s","user":"%s","password":"%s","caFile":%s,"auth":"%s"}\n' \
    "$1" "$2" "$user" "$password" "$ca" "$3" >> "$folder/targets"
}

# Makes the bucket `sealift`, which also proves that signed requests are answered.
make_bucket() {
  SECRET_KEY=$secret_key $python -I "$here/make-bucket" "$1" "$access_key" sealift
}

umask 077
folder=${1:?a folder for the server is needed}
mkdir -p "$folder/log"
: > "$folder/pids"
: > "$folder/targets"
