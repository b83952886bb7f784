#!/usr/bin/env bash
# What `weir` says of a store in Redis.
#   commands.sh WEIR URL
# Prints each check that fails, and ends with 1 if one did.
set -euo pipefail
[[ $# -eq 2 ]] || { sed -n '2,4p' "$0"; exit 2; }
weir=$1 url=$2 failed=0 out='' err=''
address=${url#redis://} address=${address%%\?*} port=${address##*:}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset WEIR_STORE WEIR_NAMESPACE WEIR_SERVER

wrong() { printf 'commands: %s\n' "$*"; failed=1; }
# run CODE ARGUMENT...: runs weir, which must end with CODE; what it printed is in $out and $err.
run() {
  local wanted=$1 code=0
  shift
  timeout 60 "$weir" "$@" >out 2>err </dev/null || code=$?
  out=$(<out) err=$(<err)
  [[ $code == "$wanted" ]] || wrong "'weir $*' ended with $code, not $wanted: $out $err"
}
says() { [[ $out == *"$1"* ]] || wrong "the output lacks '$1': $out"; }
complains() { [[ $err == *"$1"* ]] || wrong "the errors lack '$1': $err"; }
redis() { redis-cli -p "$port" "$@" >/dev/null; }

a_bucket_is_told_in_words() {
  export WEIR_STORE=$url
  run 0 store init
  says "ready: $url"
  run 0 limits set --system -l rpm:100/day:150 -l tpm:50000/day
  run 0 entity create key-1 --parent team --cascade
  run 0 acquire key-1 gpt-4 -c rpm=1 -c tpm=500
  run 0 store show key-1 gpt-4
  says "bucket of  key-1 on gpt-4"
  grep -Eq '^rpm +99(\.[0-9]+)? +99 +100 +150 +100 / day +1 ' out || wrong "the line of rpm: $out"
  grep -Eq '^tpm +49,5[0-9.]+ +49,500 +50,000 +50,000 +50,000 / day +500 ' out || wrong "the line of tpm: $out"
  run 0 store show team
  says "bucket of  team on gpt-4"
  run 1 store show nobody
  complains 'entity "nobody" has no bucket'
  run 0 audit
  says "key-1"
  run 3 acquire key-1 gpt-4 -c rpm=100
  unset WEIR_STORE
}

a_check_refuses_eviction() {
  run 0 store check --store "$url"
  says "noeviction"
  says "appendonly yes"
  redis config set maxmemory-policy allkeys-lru
  run 1 store check --store "$url"
  says "maxmemory-policy is allkeys-lru"
  redis config set maxmemory-policy noeviction
  run 0 store check --store "$url"
}

who_cannot_be_reached_is_named() {
  # No server listens on the discard port.
  run 1 limits list --store redis://127.0.0.1:9
  complains "Redis at 127.0.0.1:9 cannot be reached"
  complains "check the address, and that the server runs"
  run 1 store check --store redis://127.0.0.1:9
  says "127.0.0.1:9 cannot be reached"
  run 2 limits list --store "redis://$address?clutser=true"
  run 1 limits list --store "redis://$address?cluster=true"
  complains "is no node of a cluster"
}

passwords_are_not_shown() {
  # The rights that docs/redis.md lists.
  redis acl setuser app on '>hush-hush' '~weir:*' '&weir:changes' +@read +@write +@scripting +@connection +@pubsub \
    +time +info '+config|get'
  run 0 store init --store "redis://app:hush-hush@$address"
  says "ready: redis://app"
  [[ $out$err != *hush* ]] || wrong "the password is shown: $out $err"
  run 0 limits set --entity key-2 -l rpm:10 --store "redis://app:hush-hush@$address"
  run 0 acquire key-2 gpt-4 -c rpm=1 --store "redis://app:hush-hush@$address"
  run 0 store check --store "redis://app:hush-hush@$address"
  run 1 store init --store "redis://app:other-hush@$address"
  complains "WRONGPASS"
  complains "check the user and the password in the URL"
  [[ $out$err != *-hush* ]] || wrong "the password is shown: $out $err"
}

a_bucket_is_told_in_words
a_check_refuses_eviction
who_cannot_be_reached_is_named
passwords_are_not_shown
exit "$failed"
