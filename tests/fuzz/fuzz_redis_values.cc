// Values in Redis may have been written by any program that can reach it.
#include <cstdint>
#include <string_view>

#include "store/redis/codec.h"
#include "store/redis/record.h"
#include "store/redis/usage_codec.h"
#include "store/redis/usage_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(weir::redis::decode_limits(text));
  static_cast<void>(weir::redis::decode_entity("id", text));
  static_cast<void>(weir::redis::decode_event(text));
  static_cast<void>(weir::redis::decode_marker(text));
  static_cast<void>(weir::redis::decode_set(text));
  static_cast<void>(weir::redis::read_bucket(text, "entity", "resource"));
  static_cast<void>(weir::redis::read_hours(20'000, text));
  static_cast<void>(weir::redis::read_day(20'000, text));
  static_cast<void>(weir::redis::read_member(text));
  return 0;
}
