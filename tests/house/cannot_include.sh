#!/usr/bin/env bash
# Passes if, with the include path of a room, its own header and all that it includes are found, and a header further
# out is not.
#   cannot_include.sh OWN_HEADER OUTER_HEADER COMPILER INCLUDE_DIR...
set -euo pipefail
own=$1 outer=$2 compiler=$3
shift 3

# include HEADER DIR...: preprocesses one line that includes HEADER.
include() {
  local header=$1
  shift
  printf '#include "%s"\n' "$header" | "$compiler" -std=c++20 -E "${@/#/-I}" -x c++ - -o /dev/null 2>&1
}

if ! output=$(include "$own" "$@"); then
  printf '%s\n"%s" must be found by the include path of its own room\n' "$output" "$own"
  exit 1
fi
if output=$(include "$outer" "$@"); then
  printf '"%s" can be included from the room of "%s", but it is further out\n' "$outer" "$own"
  exit 1
fi
# g++ says "No such file or directory", clang "file not found". Any other error would prove nothing.
if ! grep -qE "$outer.*(No such file or directory|file not found)" <<<"$output"; then
  printf '%s\n"%s" was expected not to be found; it failed otherwise\n' "$output" "$outer"
  exit 1
fi
