#!/usr/bin/env bash
# Runs a command beside a redis-server of its own, which ends with it.
#   with_redis.sh COMMAND ARGUMENT...
# A REDIS in the arguments stands for the server's URL, with a deadline that a busy machine keeps, too.
set -euo pipefail
[[ $# -gt 0 ]] || { sed -n '2,4p' "$0"; exit 2; }
work=$(mktemp -d)
server=''
# shellcheck disable=SC2317  # called by the trap
finish() {
  if [[ -n $server ]]; then
    kill -KILL "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap finish EXIT

# A port that is free now may be taken before the server has it, so there is more than one try.
for _ in 1 2 3; do
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$work" --logfile "$work/log" &
  server=$!
  for ((i = 0; i < 1000; ++i)); do
    ! grep -qs 'Ready to accept connections' "$work/log" || break 2
    kill -0 "$server" 2>/dev/null || break
    sleep 0.01
  done
  kill -KILL "$server" 2>/dev/null || true
  server='' port=''
done
[[ -n $port ]] || { echo "redis-server does not start"; cat "$work/log"; exit 1; }

code=0
"${@//REDIS/redis://127.0.0.1:$port?deadline_ms=20000}" || code=$?
exit "$code"
