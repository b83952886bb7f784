#!/usr/bin/env bash
# Passes if the files of a room include only headers of the rooms that it names, and some header of each of them.
#   names_its_rooms.sh SOURCE_FOLDER ROOM NAMED_ROOM...
set -euo pipefail
shopt -s nullglob
source=$1 room=$2
shift 2
status=0

# The folder of every quoted include that is a path from the source folder.
included=$(grep -hoE '^ *# *include +"[^"]+/[^"/]+"' "$source/$room"/*.h "$source/$room"/*.cc |
  sed -E 's/.*"(.*)\/[^/]*"/\1/' | sort -u)
for other in $included; do
  [[ $other != "$room" && -d $source/$other ]] || continue
  if [[ " $* " != *" $other "* ]]; then
    printf 'src/%s includes headers of %s: name it in src/CMakeLists.txt, or do without\n' "$room" "$other"
    status=1
  fi
done
for named in "$@"; do
  if ! grep -qFx "$named" <<<"$included"; then
    printf '%s is named by the room %s, which includes none of its headers\n' "$named" "$room"
    status=1
  fi
done
exit $status
