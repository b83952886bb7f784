// Replies of a Redis server, or of any server in its place: whole, and cut at a place that the input chooses.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "wire/resp.h"

namespace {

using weir::wire::resp::Reply;
using weir::wire::resp::ReplyReader;

std::size_t walk(const Reply& reply) {
  std::size_t sum = reply.text().size() + static_cast<std::size_t>(reply.integer().value_or(0) & 1);
  if (!reply.is_list()) return sum;
  for (auto child = reply.children(); !child.at_end(); ++child) sum += walk(*child);
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t cut = data[0] % size;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  ReplyReader whole({.bytes = 1 << 16, .nodes = 1 << 10, .depth = 8});
  const auto status = whole.read(bytes);
  ReplyReader pieces({.bytes = 1 << 16, .nodes = 1 << 10, .depth = 8});
  auto other = pieces.read(bytes.substr(0, cut));
  if (other == ReplyReader::Status::incomplete) other = pieces.read(bytes);
  if (status != other) std::abort();
  if (status != ReplyReader::Status::complete) return 0;
  if (whole.size() > bytes.size() || whole.size() != pieces.size()) std::abort();
  if (walk(whole.reply(bytes.data())) != walk(pieces.reply(bytes.data()))) std::abort();
  return 0;
}
