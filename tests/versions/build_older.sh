#!/usr/bin/env bash
# Builds the program of an older commit from the history of this repository, unless it is there already:
#   build_older.sh SOURCE COMMIT FOLDER
set -euo pipefail
source=$1 commit=$2 folder=$3

[[ -x $folder/build/release/weir && $(cat "$folder/commit" 2>/dev/null) == "$commit" ]] && exit 0
git -C "$source" cat-file -e "$commit^{commit}" 2>/dev/null || {
  echo "This clone does not have commit $commit: fetch the whole history (git fetch --unshallow)" >&2
  exit 1
}
rm -rf "$folder"
mkdir -p "$folder"
git -C "$source" archive "$commit" | tar -x -C "$folder"
cd "$folder"
cmake --preset release -DWEIR_UNITY=ALL
cmake --build build/release --target weir_program
echo "$commit" >commit
