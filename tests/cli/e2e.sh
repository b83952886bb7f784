#!/usr/bin/env bash
# Runs the program as people do: a process for each command, on a file.
#   e2e.sh WEIR
# Prints each check that fails, and ends with 1 if one did.
set -euo pipefail
[[ $# -eq 1 ]] || { sed -n '2,4p' "$0"; exit 2; }
weir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset WEIR_STORE WEIR_SERVER WEIR_TOKEN WEIR_NAMESPACE NO_COLOR CLICOLOR_FORCE
failed=0 out='' err=''

wrong() { printf 'e2e: %s\n' "$*"; failed=1; }

# run CODE ARGUMENT...: runs weir, which must end with CODE; what it printed is in $out and $err.
run() {
  local wanted=$1 code=0
  shift
  "$weir" "$@" >out 2>err </dev/null || code=$?
  out=$(<out) err=$(<err)
  [[ $code == "$wanted" ]] || wrong "'weir $*' ended with $code, not $wanted: $out $err"
}
says() { [[ $out == *"$1"* ]] || wrong "the output lacks '$1': $out"; }
complains() { [[ $err == *"$1"* ]] || wrong "the errors lack '$1': $err"; }
quiet() { [[ -z $out ]] || wrong "the output is not empty: $out"; }

a_store_is_made_and_remembers() {
  run 1 store check
  says "weir store init"
  [[ ! -e weir.db ]] || wrong "a check made a file"
  run 0 store init --keep-audit 90d
  says "ready: sqlite:weir.db; the audit is kept for 90 d"
  run 0 store check
  says "integrity"
  run 0 limits set --system -l rpm:100/day -l tpm:50000/1000d
  run 0 acquire key-1 gpt-4 -c rpm=1 -c tpm=500
  says "admitted"
  run 0 acquire key-1 gpt-4 -c rpm=99
  run 3 acquire key-1 gpt-4 -c rpm=50
  says "refused: retry in "
  run 3 acquire key-1 gpt-4 -c rpm=101
  says "never fits"
  run 3 available key-1 gpt-4 -c rpm=50
  run 0 available key-1 gpt-4
  says "49,5"
  run 0 store show key-1 gpt-4
  says "bucket of  key-1 on gpt-4"
  run 1 store show nobody
  quiet
}

leases_are_settled_by_other_processes() {
  local lease
  run 0 acquire key-2 gpt-4 -c tpm=500 -o json
  lease=${out#*\"lease\":\"} lease=${lease%%\"*}
  run 0 lease adjust "$lease" -c tpm=-120 --key part-1
  says "adjusted"
  run 0 lease adjust "$lease" -c tpm=-120 --key part-1 -o json
  says '"remaining":49620'
  run 0 lease settle "$lease" -c tpm=400
  run 0 lease settle "$lease" -c tpm=400
  run 1 lease settle "$lease" -c tpm=401
  run 1 lease rollback "$lease"
  run 0 acquire key-2 gpt-4 -c tpm=500 -o json
  lease=${out#*\"lease\":\"} lease=${lease%%\"*}
  run 0 lease rollback "$lease"
  says "rolled back"
  run 1 lease rollback "${lease%?????}aaaaa"
  complains "is not known here"
}

limits_are_kept_at_every_level() {
  local level
  for level in "--resource gpt-4" "--entity key-9" "--entity key-9 --resource gpt-4"; do
    # shellcheck disable=SC2086
    run 0 limits set $level -l rpm:7/min:9
    # shellcheck disable=SC2086
    run 0 limits get $level -o json
    says '{"limits":{"rpm":{"capacity":7,"burst":9,"refill_amount":7,"refill_period_ms":60000}},"owner":"operator"}'
  done
  run 0 limits effective key-9 gpt-4
  says "source     entity"
  run 0 limits set --entity key-8 -l rpm:5 --owner sync --expires 5min
  run 0 limits list --owner sync
  says "key-8"
  run 0 limits set --entity key-8 -l rpm:6
  complains "give them back with: weir limits delete --entity key-8"
  run 1 limits set --entity key-8 -l rpm:5 --owner sync --expires 5min
  run 0 limits delete --entity key-8
  run 1 limits delete --entity key-8
  complains "no limits are set"
  run 0 limits list
  says "FROM FILE"
}

entities_and_their_audit_are_kept() {
  run 0 entity create org --name "Search team" --meta cost-center=42 --as alice
  run 0 entity create key-5 --parent org --cascade
  run 0 entity children org
  [[ $out == key-5 ]] || wrong "children: $out"
  run 0 entity get org -o json
  says '"name":"Search team","metadata":{"cost-center":"42"}'
  run 1 entity delete org
  run 0 entity delete key-5
  run 0 entity delete org
  run 1 entity get org
  run 0 audit org
  says "deleted entity org ("
  says "alice created entity org: "
  run 0 audit --system --limit 1 -o json
  says '{"events":[{"id":"'
}

a_limits_file_is_planned_and_applied() {
  printf 'system: {limits: {rpm: 5/min}}\nentities: {key-7: {parent: org, limits: {rpm: 3/min}}}\n' >limits.yaml
  local store=sqlite:file.db
  run 4 limits plan limits.yaml --store "$store"
  says "3 to add"
  run 4 limits diff limits.yaml --store "$store"
  says "+rpm 5/min"
  run 4 limits apply limits.yaml --dry-run --store "$store"
  run 0 limits apply limits.yaml --store "$store"
  says "applied: 3 added"
  run 0 limits apply limits.yaml --store "$store"
  run 0 limits plan limits.yaml --store "$store"
  printf 'system: {limits: {rpm: 5/min}}\n' | "$weir" limits apply - --store "$store" >out || wrong "apply from stdin"
  grep -q "2 removed" out || wrong "apply does not remove what it created: $(<out)"
  printf 'system: {limits: {rpm: 5/fortnight}}\n' >bad.yaml
  run 1 limits apply bad.yaml --store "$store"
  complains "weir: bad.yaml:1:"
  quiet
}

misuse_is_told_apart_from_failure() {
  run 0
  says "Usage: weir COMMAND"
  run 0 --version
  run 0 help limits set
  run 0 acquire -h
  run 2 aquire
  complains 'did you mean "acquire"?'
  run 2 limits
  run 2 limits list --ower sync
  complains 'did you mean "--owner"?'
  run 2 acquire e r -c rpm=lots
  complains "weir: -c rpm: amount"
  run 2 acquire e r x -c rpm=1
  run 2 limits list --store nonsense:
  run 1 limits list --store sqlite:/nowhere/weir.db
  run 1 acquire e r -c nonsense=1
  echo "this is not a database, whatever it may be called; it is long enough to be looked at" >not.db
  run 1 limits list --store sqlite:not.db
  run 1 store check --store sqlite:not.db
  run 0 completion bash
}

namespaces_are_apart() {
  run 0 limits set --system -l rpm:1 --namespace other
  run 0 limits list --namespace other
  [[ $out != *key-9* ]] || wrong "another namespace shows through"
  WEIR_NAMESPACE=other run 0 limits get --system
  says "1 / min"
}

output_goes_well_with_pipes() {
  run 0 limits list --color always
  [[ $out == *$'\e['* ]] || wrong "--color always shows no colours"
  CLICOLOR_FORCE=1 run 0 limits list
  [[ $out == *$'\e['* ]] || wrong "CLICOLOR_FORCE shows no colours"
  NO_COLOR=1 CLICOLOR_FORCE=1 run 0 limits list
  [[ $out != *$'\e['* ]] || wrong "NO_COLOR shows colours"
  run 0 limits list
  [[ $out != *$'\e['* ]] || wrong "a pipe gets colours"
  "$weir" completion bash 2>err | head -n 1 >/dev/null || wrong "a reader that goes away is a failure"
  [[ ! -s err ]] || wrong "a reader that goes away is told: $(<err)"
  if [[ -w /dev/full ]]; then
    local code=0
    "$weir" limits list >/dev/full 2>err || code=$?
    [[ $code == 1 ]] || wrong "a full disk ends with $code"
    grep -q "cannot write the output" err || wrong "a full disk: $(<err)"
  fi
}

commands_take_turns_on_one_file() {
  local pids=() pid
  run 0 limits set --entity many -l rpm:4/day
  for _ in {1..4}; do
    "$weir" acquire many gpt-5 -c rpm=1 >/dev/null 2>>turns &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || wrong "one of four commands at once failed: $(<turns)"; done
  run 3 acquire many gpt-5 -c rpm=1
  # The second opens the file while the first may still have it.
  "$weir" limits list -o json | "$weir" audit -o json >out || wrong "two commands in a pipeline"
}

a_store_is_made_and_remembers
leases_are_settled_by_other_processes
limits_are_kept_at_every_level
entities_and_their_audit_are_kept
a_limits_file_is_planned_and_applied
misuse_is_told_apart_from_failure
namespaces_are_apart
output_goes_well_with_pipes
commands_take_turns_on_one_file
exit "$failed"
