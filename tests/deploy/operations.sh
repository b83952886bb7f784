#!/usr/bin/env bash
# Does what docs/operations.md says, on a port that is free.
#   operations.sh WEIR REPOSITORY
# Ends with 77 where there is no curl, sqlite3 or openssl.
set -euo pipefail
[[ $# -eq 2 ]] || { sed -n '2,4p' "$0"; exit 2; }
for program in curl sqlite3 openssl; do command -v "$program" >/dev/null || { echo "needs $program"; exit 1; }; done
weir=$1 document=$2/docs/operations.md
work=$(mktemp -d)
# What the document leaves running, if one of its commands fails.
cleanup() {
  local left
  left=$(grep -s . "$work/server" || true)
  [[ -z $left ]] || kill -KILL "$left" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
mkdir "$work/bin" "$work/here"
ln -s "$weir" "$work/bin/weir"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
{
  echo 'set -euo pipefail'
  # Nothing waits forever.
  # shellcheck disable=SC2016
  echo 'sleep() { (($((++slept)) < 600)) || exit 1; command sleep "$1"; }; slept=0'
  # shellcheck disable=SC2016
  sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$document" |
    sed "s/127\\.0\\.0\\.1:8080/127.0.0.1:$port/g; s/^weir serve /&--listen 127.0.0.1:$port /" |
    sed "s|^server=\$!\$|&; echo \$server >$work/server|; s|^wait \"\$server\"\$|&; rm $work/server|"
} >"$work/script"
grep -q '^weir serve .*&$' "$work/script" || { echo "operations: no service is started"; exit 1; }
cd "$work/here"
unset WEIR_STORE WEIR_NAMESPACE WEIR_SERVER
PATH=$work/bin:$PATH bash -x "$work/script" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
[[ -f copy.db && ! -e weir.db-wal ]] || { echo "operations: the files are $(ls)"; exit 1; }
