#!/bin/sh
# Only the machines of store/conditional make writes to buckets: the store does not see what they are made with,
# changes none that it was given, and decides nothing with the table's code.
# usage: bucket_writes.sh SOURCE_FOLDER
folder="$1/store/dynamodb"
status=0
complain() {
  if [ -n "$2" ]; then
    printf '%s\n%s\n' "$1" "$2" >&2
    status=1
  fi
}
complain "store/dynamodb must not include the write builders:" \
  "$(grep -n 'conditional/paths.h' "$folder"/*)"
complain "store/dynamodb must not change a write that a machine has made:" \
  "$(grep -nE 'write(s\[[^]]*\])?(\.|->)(item|absent_at|refilled_at|refilled_since|version|version_since|generation|expires_since|set_[a-z_]+|limits|dormant) *=[^=]' \
    "$folder"/*.cc)"
complain "store/dynamodb must not decide with the code of store/table:" \
  "$(grep -n '#include "store/table/' "$folder"/* | grep -v 'store/table/draft.h')"
exit $status
