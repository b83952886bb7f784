#!/usr/bin/env bash
# Passes if every public header compiles by itself, and again when included twice, without a warning, and
# includes only other public headers and the C++ standard library.
#   public_headers.sh INCLUDE_DIR COMPILER
set -euo pipefail
include=$1 compiler=$2
allowed='# *include +(<[a-z_0-9]+>|[<"]weir/[a-z_0-9/]+\.h[>"])'
failed=0 count=0

cd "$include"
while IFS= read -r header; do
  count=$((count + 1))
  if grep -nE '^ *# *include' "$header" | grep -vE "$allowed"; then
    echo "include/$header: only the standard library and weir/ may be included in a public header"
    failed=1
  fi
  if ! printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
    "$compiler" -std=c++20 -pedantic -Wall -Wextra -Werror -fsyntax-only -I . -x c++ -; then
    echo "include/$header: does not compile by itself"
    failed=1
  fi
done < <(find weir -name '*.h' | sort)

((count > 0)) || { echo "no public header in $include/weir"; exit 1; }
exit "$failed"
