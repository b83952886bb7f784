// Records of a table's stream, from the stream itself or from Lambda, and items of usage.
#include <cstdlib>
#include <string_view>

#include "store/dynamodb/lambda_event.h"
#include "store/dynamodb/usage_items.h"

namespace {

using namespace weir;

/// Counts records as the aggregator does: whatever they hold, a step over them ends.
void use(const std::vector<usage::BucketRecord>& records) {
  const usage::Advance step = usage::count_records({}, records);
  if (step.taken > records.size() || (step.taken == 0 && !records.empty())) std::abort();
  if (!step.must_write) return;
  for (const usage::HourWrite& write : usage::writes_of(step))
    (void)dynamodb::render(records.front().bucket, write, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  usage::ShardRead read;
  if (dynamodb::read_records(text, "label", read)) use(read.records);
  (void)dynamodb::read_lambda_event(text);
  wire::json::Reader reader(text);
  dynamodb::Item item;
  if (wire::aws::read(reader, item) && reader.end()) {
    (void)dynamodb::read_usage(item);
    (void)dynamodb::read_cursor(item);
    (void)dynamodb::read_lease(item);
  }
  return 0;
}
