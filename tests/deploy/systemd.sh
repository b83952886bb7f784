#!/usr/bin/env bash
# The unit files: systemd finds nothing to complain about, and little that weir could do beyond its work.
#   systemd.sh WEIR REPOSITORY
# Ends with 77 where there is no systemd-analyze.
set -euo pipefail
[[ $# -eq 2 ]] || { sed -n '2,4p' "$0"; exit 2; }
command -v systemd-analyze >/dev/null || { echo "needs systemd-analyze"; exit 1; }
weir=$1 repository=$2 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check UNIT COMMAND
check() {
  local unit=$work/$1 complaints report
  # The unit finds weir by its name, on the path of systemd. Here it is elsewhere.
  sed "s|^ExecStart=weir |ExecStart=$weir |" "$repository/deploy/systemd/$1" >"$unit"
  grep -q "^ExecStart=$weir $2 " "$unit" || { echo "$1 does not start weir $2"; failed=1; }

  complaints=$(systemd-analyze verify --man=no "$unit" 2>&1) || failed=1
  [[ -z $complaints ]] || { printf '%s\n' "$complaints"; failed=1; }

  # In tenths: a unit with 0 can do nothing, one with 100 everything. weir's units may use the network, and
  # little else.
  if ! report=$(systemd-analyze security --offline=true --threshold=12 --no-pager "$unit" 2>&1); then
    printf '%s\n' "$report" | grep -v '✓'
    failed=1
  fi
}
check weir.service serve
check weir-gateway.service gateway

# A user for it, if systemd can make one: into an empty root.
if command -v systemd-sysusers >/dev/null; then
  mkdir -p "$work/root/etc"
  systemd-sysusers --root="$work/root" "$repository/deploy/systemd/weir.sysusers" || failed=1
  grep -q '^weir:' "$work/root/etc/passwd" || { echo "no user weir was made"; failed=1; }
fi
exit "$failed"
