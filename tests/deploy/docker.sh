#!/usr/bin/env bash
# The Dockerfile: it installs what ./dev builds with, and its health check tells a service from none.
#   docker.sh WEIR REPOSITORY
set -euo pipefail
[[ $# -eq 2 ]] || { sed -n '2,3p' "$0"; exit 2; }
weir=$1 repository=$2 failed=0 server=''
dockerfile=$repository/deploy/docker/Dockerfile
work=$(mktemp -d)
trap '[[ -z $server ]] || kill -KILL "$server" 2>/dev/null; rm -rf "$work"' EXIT
wrong() { printf 'docker: %s\n' "$*"; failed=1; }

# words: names of packages, one on a line, but for the compiler's cache.
words() { tr -s ' \\()=\n' '\n' | grep -xE '[a-z0-9][a-z0-9.+-]+' | grep -vxE 'ccache|build_packages' | sort; }
of_dev=$(sed -n '/^build_packages=(/,/)$/p' "$repository/dev" | words)
of_image=$(sed -n '/AS build$/,/^ && rm/p' "$dockerfile" | sed -n '/--no-install-recommends/,/^ && rm/p' |
  sed 's/.*--no-install-recommends//; /^ && rm/d' | words)
[[ -n $of_dev && $of_dev == "$of_image" ]] ||
  wrong "it installs other packages than ./dev: $(diff <(echo "$of_dev") <(echo "$of_image") | grep '^[<>]')"

# What it copies and runs must not be kept out of the context.
for needed in CMakeLists.txt src cmake docs/openapi.yaml include deploy; do
  [[ -e $repository/$needed ]] || wrong "there is no $needed"
  ! grep -qx "${needed%%/*}" "$repository/.dockerignore" || wrong ".dockerignore leaves out $needed"
done

grep -q '^ENV WEIR_HEALTH_PORT=8080$' "$dockerfile" || wrong "the health check has no port"
# The health check, as JSON: what stands behind CMD.
check=$(sed -n '/^HEALTHCHECK/,$p' "$dockerfile" | tr -d '\n' | sed 's/.*CMD \[/[/; s/, \\ */, /' |
  python3 -c 'import json, sys; print(json.load(sys.stdin)[2])')
mkfifo "$work/greeting"
"$weir" serve --listen 127.0.0.1:0 --store memory: >"$work/greeting" 2>/dev/null &
server=$!
read -r line <"$work/greeting"
port=$(grep -oE ':[0-9]+,' <<<"$line" | tr -d ':,')
WEIR_HEALTH_PORT=$port timeout 60 bash -c "$check" || wrong "the health check fails on a service that is up"
kill -TERM "$server"
wait "$server" || wrong "the service ended with $?"
server=''
! WEIR_HEALTH_PORT=$port timeout 60 bash -c "$check" 2>/dev/null || wrong "the health check passes without a service"
exit "$failed"
