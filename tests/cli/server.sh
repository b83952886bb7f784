#!/usr/bin/env bash
# Runs commands against a service as people do: two programs, a socket between them, with and without TLS.
#   server.sh WEIR
# Prints each check that fails, and ends with 1 if one did; with 77 where there is no openssl.
set -euo pipefail
[[ $# -eq 1 ]] || { sed -n '2,4p' "$0"; exit 2; }
command -v openssl >/dev/null || { echo "needs openssl"; exit 1; }
weir=$1
work=$(mktemp -d)
server='' url='' failed=0 out='' err=''
trap '[[ -z $server ]] || kill -KILL "$server" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
unset WEIR_STORE WEIR_NAMESPACE WEIR_SERVER WEIR_TOKEN NO_COLOR CLICOLOR_FORCE SSL_CERT_FILE SSL_CERT_DIR

wrong() { printf 'server: %s\n' "$*"; failed=1; }

# run CODE ARGUMENT...: runs weir, which must end with CODE; what it printed is in $out and $err.
run() {
  local wanted=$1 code=0
  shift
  timeout 120 "$weir" "$@" >out 2>err </dev/null || code=$?
  out=$(<out) err=$(<err)
  [[ $code == "$wanted" ]] || wrong "'weir $*' ended with $code, not $wanted: $out $err"
  [[ $out$err != *secret* ]] || wrong "'weir $*' shows the token: $out $err"
}
says() { [[ $out == *"$1"* ]] || wrong "the output lacks '$1': $out"; }
complains() { [[ $err == *"$1"* ]] || wrong "the errors lack '$1': $err"; }

# start ARGUMENT...: a service on a free port; $url is where it says that it listens.
start() {
  local line
  rm -f greeting
  mkfifo greeting
  "$weir" serve --listen 127.0.0.1:0 "$@" >greeting 2>log </dev/null &
  server=$!
  exec {said}<greeting
  read -r -t 60 line <&"$said" || wrong "'weir serve $*' says nothing: $(<log)"
  url=$(grep -o 'https\?://[^ ,]*' <<<"$line") || wrong "no URL in: $line"
}
stop() {
  kill -TERM "$server"
  wait "$server" || wrong "the service ended with $?"
  server=''
  exec {said}<&-
}

who_finds_the_file_in_use_is_told_where_to_ask() {
  start --store sqlite:owned.db
  run 1 limits list --store sqlite:owned.db
  complains "(weir --server $url reaches it)"
  local told=${err##*--server } && told=${told%% *}
  run 0 limits set --system -l rpm:5/day --server "$told"
  run 0 acquire key-1 gpt-4 -c rpm=5 --server "$told"
  run 3 acquire key-1 gpt-4 -c rpm=1 --server "$told"
  run 0 store check --server "$told"
  says "every page and index is sound"
  WEIR_SERVER=$told run 0 limits get --system
  stop
  # It was that file.
  run 3 acquire key-1 gpt-4 -c rpm=1 --store sqlite:owned.db
  run 1 limits list --server "$told"
  complains "is the service running there (weir serve)"
}

a_large_file_is_applied_at_once() {
  # More than other bodies may have: 1 MiB.
  {
    echo "entities:"
    for ((i = 0; i < 12000; i++)); do
      echo "  customer-$i: {parent: organisation, cascade: true, limits: {rpm: $((i + 1))/min}}"
    done
  } >large.yaml
  start --store memory:
  run 4 limits plan large.yaml --server "$url"
  run 0 limits apply large.yaml --server "$url"
  says "applied: 24,000 added"
  run 0 limits plan large.yaml --server "$url"
  stop
}

# certificate NAME SUBJECT_ALT_NAME: NAME.pem and NAME.key, signed by ca.pem.
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out request.pem \
    -subj "/CN=$1" 2>/dev/null
  openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out "$1.pem" \
    -extfile <(echo "subjectAltName=$2") 2>/dev/null
}

certificates_are_checked() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -days 2 \
    -subj "/CN=test authority" 2>/dev/null
  certificate service DNS:localhost
  local name
  start --store memory: --tls-cert service.pem --tls-key service.key
  [[ $url == https://* ]] || wrong "the URL is $url"
  name=https://localhost:${url##*:}
  run 0 limits set --system -l rpm:5 --server "$name" --ca-file ca.pem
  SSL_CERT_FILE=ca.pem run 0 limits get --system --server "$name"
  run 1 limits get --system --server "$name"
  complains "say whom to trust with --ca-file FILE"
  # The right authority, but the certificate is for another name.
  run 1 limits get --system --server "$url" --ca-file ca.pem
  complains "its certificate is for another name"
  run 1 limits get --system --server "$name" --ca-file missing.pem
  complains "missing.pem"
  run 1 limits get --system --server "http://localhost:${url##*:}"
  complains "https:// if it speaks TLS"
  stop
  certificate service IP:127.0.0.1
  start --store memory: --tls-cert service.pem --tls-key service.key
  run 0 limits list --server "$url" --ca-file ca.pem
  stop
}

tokens_are_taken_from_files_and_the_environment() {
  printf 'alice admin sha256:%s\n' "$(printf %s the-secret | sha256sum | cut -d' ' -f1)" >tokens
  echo the-secret >token
  start --store memory: --tokens tokens
  run 1 limits list --server "$url"
  complains "put it in WEIR_TOKEN"
  run 0 limits set --system -l rpm:5 --server "$url" --token-file token
  WEIR_TOKEN=the-secret run 0 audit --server "$url"
  says " alice set the limits of the system"
  WEIR_TOKEN=another-secret run 1 audit --server "$url"
  complains "does not know the token in WEIR_TOKEN"
  run 2 limits list --server "$url" --token the-word
  stop
}

misuse_is_told() {
  run 2 limits list --server localhost:8080
  complains "begin with http:// or https://, such as http://localhost:8080"
  run 2 limits list --server http://localhost:8080 --store memory:
  complains "say one of them"
  run 2 serve --server http://localhost:8080
  complains "leave out --server"
  run 0 serve --help
  [[ $out != *--server* ]] || wrong "the help of serve offers --server"
  run 0 limits list --help
  says "--server URL"
}

who_finds_the_file_in_use_is_told_where_to_ask
a_large_file_is_applied_at_once
certificates_are_checked
tokens_are_taken_from_files_and_the_environment
misuse_is_told
exit "$failed"
