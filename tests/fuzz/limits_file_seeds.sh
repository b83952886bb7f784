#!/usr/bin/env bash
# Writes each example of good.txt and bad.txt into a file of its own, for the fuzzer to start from.
#   limits_file_seeds.sh EXAMPLES_DIR SEEDS_DIR
set -euo pipefail
mkdir -p "$2"
awk -v folder="$2" '
  /^=== / { close(file); file = folder "/" ++count; printf "" > file; next }
  file && !/^>>> / { print > file }' "$1/good.txt" "$1/bad.txt"
touch "$2/stamp"
