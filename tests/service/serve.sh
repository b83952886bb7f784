#!/usr/bin/env bash
# Runs `weir serve` as people do, and talks to it with curl.
#   serve.sh WEIR
# Prints each check that fails, and ends with 1 if one did; with 77 where there is no curl.
set -euo pipefail
[[ $# -eq 1 ]] || { sed -n '2,4p' "$0"; exit 2; }
command -v curl >/dev/null || { echo "needs curl"; exit 1; }
weir=$1
work=$(mktemp -d)
server='' url='' failed=0 out='' err=''
trap '[[ -z $server ]] || kill -KILL "$server" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
unset WEIR_STORE WEIR_NAMESPACE WEIR_SERVER

wrong() { printf 'serve: %s\n' "$*"; failed=1; }

# run CODE ARGUMENT...: runs weir, which must end with CODE; what it printed is in $out and $err.
run() {
  local wanted=$1 code=0
  shift
  timeout 60 "$weir" "$@" >out 2>err </dev/null || code=$?
  out=$(<out) err=$(<err)
  [[ $code == "$wanted" ]] || wrong "'weir $*' ended with $code, not $wanted: $out $err"
}
complains() { [[ $err == *"$1"* ]] || wrong "the errors lack '$1': $err"; }

# start ARGUMENT...: a service on a free port; $url is where it says that it listens.
start() {
  local line listen=127.0.0.1:0
  if [[ $1 == --listen ]]; then listen=$2; shift 2; fi
  rm -f greeting log
  mkfifo greeting log
  "$weir" serve --listen "$listen" "$@" >greeting 2>log </dev/null &
  server=$!
  exec {said}<greeting {logged}<log
  read -r -t 60 line <&"$said" || wrong "'weir serve $*' says nothing"
  url=$(grep -o 'https\?://[^ ,]*' <<<"$line") || wrong "no URL in: $line"
  [[ " $* " == *" --log-level "* ]] || hears "$url"
}
# hears TEXT: the next line of the log.
hears() {
  local line=''
  read -r -t 60 line <&"$logged" || true
  [[ $line == *"$1"* ]] || wrong "the log lacks '$1': $line"
}
# stop SIGNAL: it must finish by itself, with 0.
stop() {
  local code=0
  kill -"$1" "$server"
  wait "$server" || code=$?
  server=''
  [[ $code == 0 ]] || wrong "SIG$1 ended it with $code"
  exec {said}<&- {logged}<&-
}
# status CODE ARGUMENT...: curl, whose answer must have that status; the body is in $out.
status() {
  local wanted=$1 code
  shift
  code=$(curl -sS -m 60 -o body -w '%{http_code}' "$@") || wrong "curl $*"
  out=$(<body)
  [[ $code == "$wanted" ]] || wrong "'curl $*' got $code, not $wanted: $out"
}

it_does_what_it_prints() {
  local line commands=()
  start --store memory: --threads 2
  while read -r -t 60 line <&"$said"; do
    [[ $line == curl* ]] && commands+=("$line")
    [[ ${#commands[@]} -lt 2 ]] || break
  done
  eval "${commands[0]} -sS" >body || wrong "${commands[0]}"
  grep -q '"capacity":3' body || wrong "the first curl line answers: $(<body)"
  for _ in 1 2 3; do eval "${commands[1]} -sS" >body; done
  grep -q '^HTTP/1.1 200 ' body || wrong "the third acquire: $(<body)"
  eval "${commands[1]} -sS" >body
  grep -q '^HTTP/1.1 429 ' body || wrong "the fourth acquire: $(<body)"
  grep -qE '^Retry-After: [0-9]+' body || wrong "no Retry-After: $(<body)"
  status 200 "$url/readyz"
  stop TERM
}

it_keeps_what_it_decided() {
  start --store sqlite:kept.db
  status 200 -X PUT "$url/v1/limits/system" -d '{"limits":{"rpm":"3/1000d"}}'
  status 200 "$url/v1/acquire" -d '{"entity":"e","resource":"r","consume":{"rpm":3}}'
  stop INT
  start --store sqlite:kept.db
  status 429 "$url/v1/acquire" -d '{"entity":"e","resource":"r","consume":{"rpm":1}}'
  run 1 limits list --store sqlite:kept.db
  complains "which serves it at $url"
  run 1 serve --listen 127.0.0.1:0 --store sqlite:kept.db
  complains "which serves it at $url"
  run 1 serve --listen "${url#http://}" --store memory:
  complains "cannot listen on ${url#http://}: Address already in use; --listen HOST:PORT chooses another place"
  stop TERM
  run 0 limits list --store sqlite:kept.db
}

sum() { printf %s "$1" | sha256sum | cut -d' ' -f1; }

tokens_are_read_again_on_sighup() {
  printf 'alice admin sha256:%s\n' "$(sum first-secret)" >tokens
  start --store memory: --tokens tokens
  status 401 "$url/v1/limits"
  status 200 "$url/v1/limits" -H 'Authorization: Bearer first-secret'
  printf 'alice admin sha256:%s\n' "$(sum other-secret)" >tokens
  kill -HUP "$server"
  hears "read the tokens again"
  status 401 "$url/v1/limits" -H 'Authorization: Bearer first-secret'
  status 200 "$url/v1/limits" -H 'Authorization: Bearer other-secret'
  echo 'alice other-secret' >tokens
  kill -HUP "$server"
  hears 'the old tokens stay error="tokens:1: write: name role'
  printf 'alice admin sha256:%s\nbob read sha256:%s\n' "$(sum new-secret)" "$(sum new-secret)" >tokens
  kill -HUP "$server"
  hears 'the old tokens stay error="tokens:2: the token of this line stands on line 1 too'
  status 200 "$url/v1/limits" -H 'Authorization: Bearer other-secret'
  stop TERM
}

certificates_are_read_again_on_sighup() {
  command -v openssl >/dev/null || return 0
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 \
    -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
  start --store memory: --tls-cert cert.pem --tls-key key.pem
  [[ $url == https://* ]] || wrong "the URL is $url"
  status 200 --cacert cert.pem "$url/livez"
  kill -HUP "$server"
  hears "read the certificate again"
  status 200 --cacert cert.pem "$url/livez"
  stop TERM
}

logs_are_for_people_or_for_programs() {
  local secret=first-secret lease line=''
  printf 'alice admin sha256:%s\n' "$(sum "$secret")" >tokens
  start --store memory: --tokens tokens --access-log access.log
  status 200 -X PUT "$url/v1/limits/system" -d '{"limits":{"rpm":"3/min"}}' -H "Authorization: Bearer $secret"
  status 200 "$url/v1/acquire" -d '{"entity":"e","resource":"r","consume":{"rpm":1}}' \
    -H "Authorization: Bearer $secret" -H 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  lease=$(grep -o '"lease":"[^"]*' body | cut -d'"' -f4)
  status 200 -X POST "$url/v1/leases/$lease/settle" -H "Authorization: Bearer $secret"
  # After the file is moved away, SIGHUP makes a new one.
  mv access.log access.log.1
  kill -HUP "$server"
  hears "read the tokens again"
  hears "opened the access log again"
  status 400 "$url/livez?x=$secret"
  stop TERM
  cat access.log.1 access.log >both
  [[ $(grep -c ' info request ' both) == 4 ]] || wrong "not four lines: $(<both)"
  grep -q 'path=/livez status=400' access.log || wrong "nothing in the new file: $(<both)"
  grep -q 'method=POST path=/v1/acquire status=200 .* principal=alice .*trace_id=0af7651916cd43dd8448eb211c80319c' both ||
    wrong "the line of the acquire: $(<both)"
  ! grep -qF -e "$secret" -e "$lease" both || wrong "a secret in the access log: $(<both)"

  start --store memory: --log-format json --log-level warning --access-log -
  status 200 "$url/livez"
  while read -r -t 60 line <&"$said"; do [[ $line != *'"path":"/livez"'* ]] || break; done
  [[ $line == *'"message":"request"'*'"path":"/livez","status":200,'* ]] || wrong "no line on stdout: $line"
  stop TERM
}

misuse_is_told() {
  run 2 serve --listen 0.0.0.0:0 --store memory:
  complains "give --tokens FILE, or --insecure"
  run 2 serve --listen '[::]:0' --store memory:
  complains "give --tokens FILE, or --insecure"
  run 2 serve --listen nowhere --store memory:
  complains '--listen "nowhere": write HOST:PORT'
  run 2 serve --listen 127.0.0.1:65536 --store memory:
  complains "write HOST:PORT"
  run 2 serve --listen ::1:80 --store memory:
  complains "write HOST:PORT"
  run 2 serve --listen example.org:80 --store memory:
  run 2 serve --threads 0 --store memory:
  complains "--threads: use 1 to 256"
  run 2 serve --threads many --store memory:
  complains "--threads: use 1 to 256"
  run 2 serve --tokens missing --listen 127.0.0.1:0 --store memory:
  complains "--tokens: missing cannot be read"
  : >empty
  run 2 serve --tokens empty --listen 127.0.0.1:0 --store memory:
  complains "empty: no tokens in it"
  run 2 serve --tls-cert cert.pem --store memory:
  complains "--tls-cert and --tls-key belong together"
  run 2 serve --log-format xml --store memory:
  complains "--log-format: use text or json"
  run 2 serve --log-level loud --store memory:
  complains "--log-level: use debug, info, warning or error"
  run 2 serve --access-log no/such/folder --listen 127.0.0.1:0 --store memory:
  complains "no/such/folder cannot be written"
  printf 'a read sha256:%s\nb admin sha256:%s\n' "$(sum one)" "$(sum one)" >twice
  run 2 serve --tokens twice --listen 127.0.0.1:0 --store memory:
  complains "twice:2: the token of this line stands on line 1 too"
  run 2 serve --on-unavailable maybe --store memory:
  run 2 serve --store nonsense:
}

passwords_are_never_printed() {
  local store
  for store in REDIS://me:hunter2@127.0.0.1:1 redis://me:1/hunter2@127.0.0.1:1 'redis://me:1?hunter2@127.0.0.1:1' \
    redis://me:hunter2 rediss://me:hunter2@127.0.0.1:1 redis://me%3Ahunter2@127.0.0.1:1 redis:me:hunter2@127.0.0.1 \
    me:hunter2@127.0.0.1:1 'dynamodb://table?endpoint=http://me:hunter2@127.0.0.1:1' redis://me:hunter2@127.0.0.1:1; do
    for command in "store check --store $store" "store init --store $store" "store init $store" \
      "serve --listen nowhere --store $store" "acquire e r -c rpm=1 --store $store" "gateway --check --store $store"; do
      # shellcheck disable=SC2086
      timeout 60 "$weir" $command >out 2>&1 </dev/null || true
      ! grep -q hunter2 out || wrong "'weir $command' shows the password: $(<out)"
    done
  done
}

it_listens_beyond_this_machine_if_told_to() {
  start --listen 0.0.0.0:0 --insecure --store memory:
  status 200 "http://127.0.0.1:${url##*:}/livez"
  stop TERM
}

it_does_what_it_prints
it_keeps_what_it_decided
tokens_are_read_again_on_sighup
certificates_are_read_again_on_sighup
logs_are_for_people_or_for_programs
misuse_is_told
passwords_are_never_printed
it_listens_beyond_this_machine_if_told_to
exit "$failed"
