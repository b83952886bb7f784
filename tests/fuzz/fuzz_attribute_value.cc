// Items in the JSON of DynamoDB's answers. An item that is read can be written, and then reads as the same.
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/attribute_value.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir::wire;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  json::Reader skipping(text);
  skipping.skip();
  const bool is_json = skipping.end();
  json::Reader reader(text);
  aws::Item item;
  if (!aws::read(reader, item) || !reader.end()) return 0;
  if (!is_json) std::abort();
  std::string written;
  aws::append_json(written, item);
  json::Reader again(written);
  aws::Item same;
  if (!aws::read(again, same) || !again.end() || !(same == item)) std::abort();
  if (aws::size_of(item) > 4 * written.size()) std::abort();
  return 0;
}
