#include "store/redis/usage_reader.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "base/wide.h"
#include "store/redis/bucket_write.h"
#include "store/redis/record.h"
#include "store/redis/start_up.h"
#include "usage/position.h"
#include "usage/rows.h"

namespace weir::redis {
namespace {

/// Buckets that are read at once.
constexpr std::size_t read_at_once = 256;
/// A page ends after so many buckets, however few rows they have.
constexpr std::size_t most_in_a_page = 20'000;
/// The most hours that are read at once, where a resource has few entities.
constexpr std::size_t most_hours = std::size_t{31} * 24;

}  // namespace

UsageRead::UsageRead(Context& context, const store::UsageQuery& query, const weir::Paging& paging)
    : context_(context),
      query_(query),
      paging_(paging),
      index_(context, query.name_space),
      now_(context.time.now()) {}

Result<weir::Page<Usage>> UsageRead::run() {
  if (paging_.limit == 0) return weir::Page<Usage>();
  if (context_.start_up != nullptr) {
    if (auto read = context_.start_up->read_usage_kept(); !read) return read.error();
  }
  return query_.entity.empty() ? of_resource() : of_entity();
}

/// Hours before it belong to days that are kept as one row.
Time UsageRead::first_kept_hour() const {
  return start_of(UsageWindow::day, now_ - context_.usage_kept().hours);
}

Result<weir::Page<Usage>> UsageRead::of_entity() {
  const auto after = usage::read_cursor(paging_.cursor);
  if (!after) return after.error();
  auto buckets = index_.of_entity(query_.entity, query_.resource);
  if (!buckets) return buckets.error();
  std::erase_if(*buckets, [&](const UsedBucket& bucket) { return bucket.resource < after->name; });
  const Time oldest = start_of(UsageWindow::day, now_ - context_.usage_kept().days);
  for (std::size_t at = 0; at < buckets->size();) {
    std::size_t end = std::min(at + read_at_once, buckets->size());
    while (end < buckets->size() && (*buckets)[end].resource == (*buckets)[end - 1].resource) ++end;
    auto found = read({buckets->begin() + static_cast<std::ptrdiff_t>(at),
                       buckets->begin() + static_cast<std::ptrdiff_t>(end)},
                      std::max(query_.from, oldest), query_.to);
    if (!found) return found.error();
    for (Found& one : *found) {
      for (auto& [start, row] : one.windows) {
        if (!usage::is_after(row, *after, true)) continue;
        if (page_.items.size() == paging_.limit) {
          page_.next = usage::cursor_of(usage::position_of(page_.items.back(), true));
          return std::move(page_);
        }
        page_.items.push_back(std::move(row));
      }
    }
    at = end;
  }
  return std::move(page_);
}

/// `HOUR|ENTITY|NEXT`: the hour, the last of its entities in the page, and the first later hour so far.
std::string UsageRead::cursor() const {
  return base::join(std::to_string(hour_), "|", after_, "|", std::to_string(next_));
}

bool UsageRead::read_cursor() {
  const std::string_view text = paging_.cursor;
  if (text.empty()) return true;
  const std::size_t first = text.find('|');
  const std::size_t second = text.find('|', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return false;
  const auto hour = base::parse_digits(text.substr(0, first));
  const auto next = base::parse_digits(text.substr(second + 1));
  if (!hour || !next) return false;
  hour_ = *hour;
  after_ = text.substr(first + 1, second - first - 1);
  next_ = *next;
  return true;
}

Result<weir::Page<Usage>> UsageRead::of_resource() {
  hour_ = std::max({query_.from, start_of(UsageWindow::day, now_ - context_.usage_kept().days), Time{0}});
  if (!read_cursor())
    return base::invalid("this cursor is not one of a page of usage; repeat the query without a cursor");
  const auto count = index_.count(query_.resource);
  if (!count) return count.error();
  if (*count == 0) return std::move(page_);
  while (hour_ < query_.to) {
    const std::size_t room = paging_.limit - page_.items.size();
    if (room == 0 || read_ >= most_in_a_page) {
      page_.next = cursor();
      break;
    }
    const Time hours = static_cast<Time>(std::min(room / *count, most_hours));
    const bool whole = after_.empty() && hours > 1;
    // A new page has more room.
    if (after_.empty() && !whole && !page_.items.empty() && paging_.limit / *count > 1) {
      page_.next = cursor();
      break;
    }
    auto read = whole ? read_span(std::min(query_.to, base::saturating_add(hour_, hours * usage::hour)))
                      : read_hour();
    if (!read) return read.error();
  }
  return std::move(page_);
}

Result<void> UsageRead::read_span(Time to) {
  std::vector<Usage> rows;
  std::string after;
  Time next = never_;
  for (bool last = false; !last;) {
    auto part = index_.of_resource(query_.resource, after, read_at_once);
    if (!part) return part.error();
    last = part->last;
    auto found = read(part->buckets, hour_, to);
    if (!found) return found.error();
    for (Found& one : *found) {
      next = std::min(next, one.next);
      for (auto& [start, row] : one.windows) rows.push_back(std::move(row));
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Usage& a, const Usage& b) {
    return std::tie(a.start, a.entity) < std::tie(b.start, b.entity);
  });
  // Buckets that were added meanwhile may have brought more rows than there is room for: they come with the
  // next page, which begins with the hour that did not fit.
  const std::size_t room = paging_.limit - page_.items.size();
  if (rows.size() > room) {
    next = rows[room].start;
    rows.resize(room);
    while (!rows.empty() && rows.back().start == next) rows.pop_back();
  }
  for (Usage& row : rows) page_.items.push_back(std::move(row));
  hour_ = next;
  return {};
}

Result<void> UsageRead::read_hour() {
  const std::size_t room = paging_.limit - page_.items.size();
  std::string after = after_;
  auto part = index_.of_resource(query_.resource, after, std::min(room, read_at_once));
  if (!part) return part.error();
  auto found = read(part->buckets, hour_, base::saturating_add(hour_, usage::hour));
  if (!found) return found.error();
  // Several buckets of one entity are one row, so there is room for all of them.
  for (Found& one : *found) {
    next_ = std::min(next_, one.next);
    for (auto& [start, row] : one.windows) page_.items.push_back(std::move(row));
  }
  after_ = after;
  if (!part->last) return {};
  hour_ = next_;
  next_ = never_;
  after_.clear();
  return {};
}

Result<std::vector<UsageRead::Found>> UsageRead::read(const std::vector<UsedBucket>& buckets, Time from,
                                                      Time to) {
  const std::string first = std::to_string(day_number(from));
  const std::string last = std::to_string(day_number(to - 1));
  std::vector<BlockingCalls::Arguments> calls;
  const Names& names = context_.names;
  for (const UsedBucket& bucket : buckets) {
    calls.push_back({{names.bucket(query_.name_space, bucket.family, bucket.entity, bucket.resource),
                      names.usage(query_.name_space, bucket.family, bucket.entity, bucket.resource)},
                     {first, last}});
  }
  read_ += calls.size();
  auto replies = BlockingCalls(context_).run_all(Script::usage(), calls, false);
  if (!replies) return replies.error();
  std::vector<Found> all;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const bool again =
        i > 0 && buckets[i].entity == buckets[i - 1].entity && buckets[i].resource == buckets[i - 1].resource;
    if (!again) all.emplace_back();
    take(buckets[i], (*replies)[i], from, to, all.back());
  }
  return all;
}

void UsageRead::take(const UsedBucket& bucket, const KeptReply& reply, Time from, Time to, Found& found) {
  const Reply list = reply.get();
  auto at = list.children();
  const Reply record = at.next();
  const std::int64_t next_day = at.next().integer().value_or(-1);
  if (next_day == -2) context_.bad.report(unusable_usage(bucket.entity, bucket.resource));
  if (next_day >= 0 && next_day < never_ / usage::day)
    found.next = std::min(found.next, std::max(to, next_day * usage::day));
  std::vector<std::pair<UsedWindow, bool>> windows;
  while (!at.at_end()) {
    const std::string_view name = at.next().text();
    const std::string_view text = at.next().text();
    const bool whole = name.starts_with('d');
    const auto day = base::parse_digits(name.substr(whole ? 1 : 0));
    auto hours = whole || !day ? std::nullopt : read_hours(*day, text);
    auto one = whole && day ? read_day(*day, text) : std::nullopt;
    if (!hours && !one) context_.bad.report(damaged_usage(bucket.entity, bucket.resource, name));
    if (one) windows.emplace_back(*std::move(one), true);
    for (UsedWindow& hour : hours ? *hours : std::vector<UsedWindow>())
      windows.emplace_back(std::move(hour), false);
  }
  auto read = record.is_text() ? read_bucket(record.text(), bucket.entity, bucket.resource) : ReadBucket();
  if (!read) {
    context_.bad.report(read.error().message);
  } else if (read->bucket && read->bucket->segment && read->bucket->segment->events > 0) {
    windows.emplace_back(window_of(*read->bucket->segment), false);
  }
  // Days first, so that hours of the same day find them.
  for (const bool days : {true, false}) {
    for (auto& [window, whole] : windows) {
      if (whole == days) add(found, bucket, std::move(window), whole);
    }
  }
  const auto later = found.windows.lower_bound(to);
  if (later != found.windows.end()) found.next = std::min(found.next, later->first);
  std::erase_if(found.windows, [&](const auto& one) { return one.first < from || one.first >= to; });
}

void UsageRead::add(Found& found, const UsedBucket& bucket, UsedWindow window, bool whole_day) {
  const Time day = start_of(UsageWindow::day, window.start);
  const auto known_day = found.windows.find(day);
  const bool folded = known_day != found.windows.end() && known_day->second.window == UsageWindow::day;
  const bool whole = whole_day || folded || window.start < first_kept_hour();
  Usage row{.entity = bucket.entity,
            .resource = bucket.resource,
            .window = whole ? UsageWindow::day : UsageWindow::hour,
            .start = whole ? day : window.start,
            .limits = std::move(window.limits),
            .events = window.events};
  const auto [known, is_new] = found.windows.try_emplace(row.start, row);
  if (!is_new) usage::add(known->second, row);
}

}  // namespace weir::redis
