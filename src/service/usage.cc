// GET /v1/usage.
#include "api/usage_json.h"
#include "service/calls.h"
#include "service/query.h"

namespace weir::service {
namespace {

Result<UsageFilter> read_filter(const Query& query) {
  UsageFilter filter{
      .entity = query.get("entity"), .parent = query.get("parent"), .resource = query.get("resource")};
  for (const char* const name : {"entity", "parent", "resource"}) {
    if (query.has(name) && query.get(name).empty())
      return base::invalid(name, " is empty; leave it out, or name one");
  }
  const std::string window = query.get("window");
  if (query.has("window") && window != "hour" && window != "day")
    return base::invalid("window must be hour or day");
  if (window == "day") filter.window = UsageWindow::day;
  if (auto read = read_moment(query, "from", filter.from); !read) return read.error();
  if (auto read = read_moment(query, "to", filter.to); !read) return read.error();
  return filter;
}

Reply top(limiter::Core& core, const Query& query, const UsageFilter& filter) {
  const auto count = base::parse_digits(query.get("top"));
  if (!count) return malformed("top must be a whole number");
  if (query.has("limit") || query.has("cursor"))
    return malformed("top is one answer without pages: leave out limit and cursor");
  const auto found = core.top_usage(filter, query.get("by"), static_cast<std::size_t>(*count));
  return found ? Reply{.body = api::to_json(std::span(*found))} : problem(found.error());
}

}  // namespace

Reply usage(limiter::Core& core, std::string_view query_text) {
  const Query query(query_text,
                    {"entity", "parent", "resource", "window", "from", "to", "top", "by", "limit", "cursor"});
  if (!query.error().empty()) return malformed(query.error());
  const auto filter = read_filter(query);
  if (!filter) return malformed(filter.error().message);
  if (query.has("top")) return top(core, query, *filter);
  if (query.has("by")) return malformed("by orders the top: add top, such as top=10");
  const auto paging = paging_of(query);
  if (!paging) return malformed(paging.error().message);
  return page_reply(core.usage(*filter, *paging), "usage",
                    [](const Usage& one) { return api::to_json(one); });
}

}  // namespace weir::service
