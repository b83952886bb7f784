// Responses, as a proxy reads them; the first byte chooses the method that was asked with.
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/http_response.h"
#include "wire/http_write.h"

namespace {

using namespace weir::wire;
using namespace weir::wire::http;

constexpr Limits limits{.start_line = 100, .head = 300, .fields = 8};

void require(bool holds) {
  if (!holds) std::abort();
}

bool same(const ResponseHead& a, const ResponseHead& b) {
  if (a.fields().size() != b.fields().size()) return false;
  for (std::size_t i = 0; i < a.fields().size(); ++i) {
    if (a.fields()[i].name != b.fields()[i].name || a.fields()[i].value != b.fields()[i].value) return false;
  }
  return a.status() == b.status() && a.version() == b.version() && a.body() == b.body() &&
         a.length() == b.length() && a.keep_alive() == b.keep_alive() && a.interim() == b.interim();
}

void check_rewritten(const ResponseHead& head, Method method) {
  if (head.version() != Version::http_1_1) return;
  Buffer fields;
  for (std::size_t i = 0; i < head.fields().size(); ++i) {
    require(write_field(fields, head.fields()[i].name, head.fields()[i].value));
  }
  Buffer out;
  // An upgrade adds nothing of its own to the fields; neither does this with no body and keep-alive.
  write_response_head(out, {.status = head.status(), .fields = fields.view()});
  ResponseParser parser(Limits{});
  ResponseHead again;
  require(parser.parse(out.view(), method, again) == Progress::complete);
  require(same(head, again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const Method method = data[0] % 2 == 0 ? Method::get : Method::head;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  ResponseParser at_once(limits);
  ResponseHead head;
  const Progress progress = at_once.parse(bytes, method, head);
  ResponseParser by_byte(limits);
  ResponseHead other;
  Progress other_progress = Progress::need_more;
  for (std::size_t count = 1; count <= bytes.size() && other_progress == Progress::need_more; ++count) {
    const std::string arrived(bytes.substr(0, count));
    other_progress = by_byte.parse(arrived, method, other);
    other.rebase(bytes.data());
  }
  require(progress == other_progress);
  if (progress == Progress::failed) require(at_once.refusal().reason == by_byte.refusal().reason);
  if (progress != Progress::complete) return 0;
  require(at_once.size() == by_byte.size() && same(head, other));
  require(head.status() >= 100 && head.status() < 600);
  check_rewritten(head, method);
  return 0;
}
