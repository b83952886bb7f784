// Requests: heads and their bodies. The same bytes give the same outcome in one piece and byte by byte, and
// what was accepted means the same after it was written and read again.
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/http_body.h"
#include "wire/http_request.h"
#include "wire/http_write.h"

namespace {

using namespace weir::wire;
using namespace weir::wire::http;

constexpr Limits limits{.start_line = 100, .head = 300, .fields = 8, .chunk_extensions = 20, .trailer = 60};

void require(bool holds) {
  if (!holds) std::abort();
}

Progress parse_by_byte(std::string_view bytes, RequestParser& parser, RequestHead& head) {
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    // A copy of exactly this size each time: the buffer moves, and a read behind its end is seen.
    const std::string arrived(bytes.substr(0, size));
    const Progress progress = parser.parse(arrived, head);
    if (progress == Progress::complete) head.rebase(bytes.data());
    if (progress != Progress::need_more) return progress;
  }
  return Progress::need_more;
}

bool same(const RequestHead& a, const RequestHead& b) {
  if (a.fields().size() != b.fields().size()) return false;
  for (std::size_t i = 0; i < a.fields().size(); ++i) {
    if (a.fields()[i].name != b.fields()[i].name || a.fields()[i].value != b.fields()[i].value) return false;
  }
  return a.method() == b.method() && a.method_text() == b.method_text() && a.target() == b.target() &&
         a.path() == b.path() && a.query() == b.query() && a.host() == b.host() &&
         a.version() == b.version() && a.body() == b.body() && a.keep_alive() == b.keep_alive() &&
         a.upgrade() == b.upgrade() && a.expects_continue() == b.expects_continue();
}

void check_rewritten(const RequestHead& head) {
  if (head.version() != Version::http_1_1) return;
  Buffer out;
  write_request_line(out, head.method_text(), head.target());
  for (std::size_t i = 0; i < head.fields().size(); ++i) {
    require(write_field(out, head.fields()[i].name, head.fields()[i].value));
  }
  out.append("\r\n");
  // The line and the spaces may have grown, so without limits.
  RequestParser parser(Limits{});
  RequestHead again;
  require(parser.parse(out.view(), again) == Progress::complete);
  require(parser.size() == out.size());
  require(same(head, again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RequestParser at_once(limits);
  RequestHead head;
  const Progress progress = at_once.parse(bytes, head);
  RequestParser by_byte(limits);
  RequestHead other;
  require(parse_by_byte(bytes, by_byte, other) == progress);
  if (progress == Progress::failed) {
    require(at_once.refusal().status == by_byte.refusal().status && at_once.refusal().status >= 400);
    require(at_once.refusal().reason == by_byte.refusal().reason);
  }
  if (progress != Progress::complete) return 0;
  require(at_once.size() == by_byte.size() && at_once.size() <= limits.head);
  require(same(head, other));
  require(head.path().starts_with('/') || head.path() == "*");
  check_rewritten(head);
  return 0;
}
