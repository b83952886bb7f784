#!/usr/bin/env bash
# Runs the commands in a document and compares what they print with what it shows.
#   tour.sh WEIR DOCUMENT [STORE]
# With a STORE, such as memory:, the commands do not open a store of their own but ask a service that has that one. Redis
# and DynamoDB are opened by every command.
# In ```console blocks, lines that begin with "$ " are commands and the rest is their output. Columns, times, decimals,
# names of users and ids that are drawn at random may differ. The commands run as they are shown, except that a service
# listens on a free port in place of 8080, and that a time of day after --at is that of the moment printed last. A run in
# which a day of UTC began is repeated, since usage is counted by days.
set -euo pipefail
[[ $# -eq 2 || $# -eq 3 ]] || { sed -n '2,9p' "$0"; exit 2; }
weir=$1 document=$2 store=${3:-}
work=$(mktemp -d)
server=''
day=$(date -u +%F)
trap '[[ -z $server ]] || kill -KILL "$server" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/here"
ln -s "$weir" "$work/bin/weir"

# What the document shows, and its commands.
# shellcheck disable=SC2016
sed -n '/^```console$/,/^```$/{/^```/d;p}' "$document" >"$work/shown"
sed -n 's/^\$ //p' "$work/shown" >"$work/commands"
[[ -s $work/commands ]] || { echo "tour: there are no commands in $document"; exit 1; }

export LC_ALL=C.UTF-8 TERM=xterm # of charts
unset WEIR_STORE WEIR_SERVER WEIR_TOKEN WEIR_NAMESPACE NO_COLOR CLICOLOR_FORCE
if [[ $store == redis* || $store == dynamodb* ]]; then
  export WEIR_STORE=$store
elif [[ -n $store ]]; then
  mkfifo "$work/greeting"
  (cd "$work" && exec "$weir" serve --listen 127.0.0.1:0 --store "$store") >"$work/greeting" 2>/dev/null &
  server=$!
  exec {greeting}<"$work/greeting"
  read -r -t 60 line <&"$greeting" || { echo "tour: the service says nothing"; exit 1; }
  WEIR_SERVER=$(grep -o 'http://[^ ,]*' <<<"$line")
  export WEIR_SERVER
fi

# wait_until_it_listens: sets $port to that of the service which the last command has started in the background.
wait_until_it_listens() {
  local end=$((SECONDS + 60)) greeting
  until greeting=$(grep -hos 'weir listens on http://127.0.0.1:[0-9]*,' "$work/printed" ./*); do
    if ((SECONDS > end)) || ! kill -0 $! 2>/dev/null; then
      echo "tour: the service does not listen"
      exit 1
    fi
    sleep 0.05
  done
  port=${greeting##*:} port=${port%,}
}

# run COMMAND: prints and runs it. A command that ends in & starts a service.
run() {
  local typed=$1 moment
  printf '$ %s\n' "$typed"
  [[ $typed != *' &' ]] || port=0
  typed=${typed//127.0.0.1:8080/127.0.0.1:$port}
  if [[ $typed == *'--at '??:??' '* ]]; then
    moment=$(grep -Eo '[0-9]{2}:[0-9]{2}:[0-9]{2} UTC' "$work/printed" | tail -n 1)
    typed=${typed/'--at '??:??/--at ${moment:0:5}}
  fi
  eval "$typed" 3<&-
  [[ $typed != *' &' ]] || wait_until_it_listens
}

(
  set +euo pipefail # a plan that found changes ends with 4
  # shellcheck disable=SC2046
  trap 'kill -KILL $(jobs -p) 2>/dev/null' EXIT # a service that the document did not stop
  cd "$work/here"
  PATH=$work/bin:$PATH
  while IFS= read -r command <&3; do run "$command"; done 3<"$work/commands"
) >"$work/printed" 2>&1 || true

span='[0-9.]+ (ms|s|min|h|d)( [0-9]+ (s|min|h))?'
normal() {
  sed -E -e '/^\$ /b' -e "s/(in|retry in) $span/\\1 TIME/g; s/[0-9]+ ms\\)/TIME)/; s/  +$span  +/ TIME /" \
    -e "s/(now|[0-9,]+ (s|min|h|d) ago)(,? \\(?)[0-9-]{10} [0-9:]{8} UTC/TIME\\3DATE/; s/ by [^ ,]+,/ by USER,/" \
    -e 's/(\) +)[^ ]+ (set|changed|created|deleted) /\1USER \2 /' \
    -e "s/^(admitted|refused) after $span/\\1 after TIME/; s/^(It would have passed) $span later/\\1 TIME later/" \
    -e 's/^decision [0-9a-f]{8}-([0-9]+), request weir-[0-9]+$/decision LOG-\1, request ID/' \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}(:[0-9]{2})?)?/MOMENT/g; s/([0-9])\.[0-9]+/\1/g; s/  +/ /g' "$1"
}
if [[ $(date -u +%F) != "$day" ]]; then
  [[ -z $server ]] || kill -KILL "$server"
  rm -rf "$work"
  exec "$0" "$@"
fi
normal "$work/shown" >"$work/wanted"
normal "$work/printed" >"$work/got"
[[ -z $store || ! -e $work/here/weir.db ]] || { echo "tour: a store was opened beside the service"; exit 1; }
diff -u --label "$document" --label "what weir prints" "$work/wanted" "$work/got"
