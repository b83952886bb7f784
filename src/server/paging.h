// Listings: pages of them, and their parameters.
#pragma once

#include <string>

#include "base/hex.h"
#include "base/json.h"
#include "base/text.h"
#include "server/problem.h"
#include "server/query.h"
#include "weir/catalog.h"
#include "weir/result.h"

namespace weir::server {

inline Reply malformed(const std::string& detail) { return problem(400, "malformed", detail); }

/// The page of a listing: `limit` and `cursor`. Cursors are made of names, which may have special characters
/// of a query; hex needs no escaping.
inline Result<Paging> paging_of(const Query& query) {
  auto cursor = base::from_hex(query.get("cursor"));
  if (!cursor) return base::invalid("cursor must be what the page before said in \"next\"");
  Paging paging{.cursor = *std::move(cursor)};
  if (!query.has("limit")) return paging;
  const auto limit = base::parse_digits(query.get("limit"));
  if (!limit) return base::invalid("limit must be a whole number");
  paging.limit = static_cast<std::size_t>(*limit);
  return paging;
}

template <class T, class ToJson>
Reply page_reply(const Result<Page<T>>& page, const char* name, ToJson&& json_of) {
  if (!page) return problem(page.error());
  auto items = base::JsonWriter::array();
  for (const T& item : page->items) items.add(json_of(item));
  auto json = base::JsonWriter::object();
  json.raw(name, items.str());
  if (!page->next.empty()) json.text("next", base::hex(page->next));
  return {.body = json.str()};
}

}  // namespace weir::server
