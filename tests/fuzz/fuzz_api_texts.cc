// The texts around the bodies of the API: queries, pages, cursors, moments, tokens files and store URLs. A
// text that is accepted can be written again and then reads as the same; errors show no secret.
#include <cstdlib>
#include <string>
#include <string_view>

#include "app/store_url.h"
#include "base/rfc3339.h"
#include "limits/names.h"
#include "server/paging.h"
#include "server/query.h"
#include "service/tokens.h"
#include "usage/position.h"

namespace {

using namespace weir;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_query(std::string_view text) {
  const server::Query query(text, {"limit", "cursor", "from", "entity"});
  if (!query.error().empty()) return;
  if (const auto page = server::paging_of(query)) {
    const std::string cursor = base::hex(page->cursor);
    const server::Query again("cursor=" + cursor + "&limit=" + std::to_string(page->limit),
                              {"limit", "cursor"});
    const auto same = server::paging_of(again);
    require(again.error().empty() && same && same->cursor == page->cursor && same->limit == page->limit);
  }
  Time from = 0;
  if (!server::read_moment(query, "from", from)) require(from == 0);
}

void check_moment(std::string_view text) {
  const auto moment = base::parse_rfc3339(text);
  if (!moment) return;
  const std::string written = base::rfc3339_text(*moment);
  // An offset may lead out of the years that can be written.
  if (text.starts_with("0000") || text.starts_with("9999")) return;
  require(base::parse_rfc3339(written) == moment);
}

void check_cursor(std::string_view text) {
  const auto position = usage::read_cursor(text);
  if (!position || text.empty()) return;
  const auto again = usage::read_cursor(usage::cursor_of(*position));
  require(again && again->start == position->start && again->name == position->name);
}

void check_tokens(std::string_view text) {
  const auto tokens = service::Tokens::parse(text, "tokens");
  if (!tokens) return require(tokens.error().message.starts_with("tokens"));
  require(tokens->find("") == nullptr && tokens->find(text) == nullptr);
}

void check_store_url(std::string_view text) {
  (void)app::check_store_url(text);
  const std::string url = "redis://user:s3cr3t@" + std::string(text);
  require(app::without_password(url).find("s3cr3t") == std::string::npos ||
          text.find("s3cr3t") != std::string_view::npos);
  if (const auto checked = app::check_store_url(url);
      !checked && text.find("s3cr3t") == std::string_view::npos)
    require(checked.error().message.find("s3cr3t") == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_query(text);
  check_moment(text);
  check_cursor(text);
  check_tokens(text);
  check_store_url(text);
  return 0;
}
