// Snapshots of other regions. One that is read can be written, and reads again as the same.
#include <cstdlib>
#include <string_view>

#include "sync/snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir::sync;
  const auto snapshot = read_snapshot({reinterpret_cast<const char*>(data), size});
  if (!snapshot) return 0;
  for (const Entry& entry : snapshot->entries) {
    if (snapshot->find(entry.entity, entry.resource) != &entry) std::abort();
  }
  const auto again = read_snapshot(to_json(*snapshot));
  if (!again || !(*again == *snapshot)) std::abort();
  return 0;
}
