// store list: what is left in the buckets of every entity.
#include "api/catalog_json.h"
#include "base/text.h"
#include "cli/bucket_filter.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/text_table.h"
#include "cli/words.h"
#include "store/bucket_now.h"

namespace weir::cli {
namespace {

/// Rows that are collected before they are printed, to find the widths of the columns.
constexpr std::size_t rows_at_once = 1000;

class BucketTable {
 public:
  BucketTable(const Session& session, const BucketsFilter& filter) : session_(session), filter_(filter) {}

  /// A row for each limit that can refuse.
  void add(const Bucket& bucket) {
    const Time now = session_.now();
    for (const BucketLimit& limit : bucket.limits) {
      if (!store::is_compared(limit, filter_.limit)) continue;
      const Amount held = store::held_at(bucket, limit, now);
      const std::int64_t share = store::share_of(held, limit.limit.capacity());
      table_.add({{bucket.entity},
                  {bucket.resource},
                  {limit.name},
                  {amount_text(held), held < Amount() ? Tone::bad : Tone::plain},
                  {amount_text(limit.limit.capacity())},
                  {percent_text(share), tone_of_share(share)},
                  {amount_text(limit.consumed)},
                  {relative_text(store::full_at(bucket, limit, now), now)}});
      if (++rows_ % rows_at_once == 0) print();
    }
  }
  void print() { table_.print(session_.out(), session_.style()); }

 private:
  const Session& session_;
  const BucketsFilter& filter_;
  std::size_t rows_ = 0;
  TextTable table_{{{"ENTITY"},
                    {"RESOURCE"},
                    {"LIMIT"},
                    {"LEFT", TextTable::Align::right},
                    {"CAPACITY", TextTable::Align::right},
                    {"LEFT %", TextTable::Align::right},
                    {"CONSUMED", TextTable::Align::right},
                    {"FULL"}}};
};

/// Why there may be nothing.
std::string nothing_text(const Arguments& arguments) {
  std::string text = "there is no bucket";
  if (arguments.resource) text += base::join(" on ", base::quoted(*arguments.resource));
  if (arguments.by) text += base::join(" with limit ", base::quoted(*arguments.by));
  if (arguments.below) text += base::join(" with less than ", *arguments.below, " left");
  return text + "; one is made by the first acquire, and expires when it was full for long";
}

}  // namespace

Result<ExitCode> store_list(Session& session, const Arguments& arguments) {
  const auto filter = read_buckets_filter(arguments, BucketOrder::entity);
  if (!filter) return filter.error();
  // Every page of a sorted listing reads all buckets.
  const bool sorted = filter->order != BucketOrder::entity;
  const auto most =
      read_number("--limit", arguments.limit.value_or(sorted ? "100" : "1000000"), 1, 1'000'000);
  if (!most) return most.error();
  client::Target& target = session.existing();
  JsonList json(session.out(), "buckets");
  BucketTable table(session, *filter);
  bool found = false;
  const auto page = [&](const Paging& paging) {
    return target.buckets_on(arguments.resource.value_or(""), *filter, paging);
  };
  const auto visit = [&](const Bucket& bucket) {
    found = true;
    session.json() ? json.add(api::to_json(bucket, session.now())) : table.add(bucket);
  };
  auto listed = for_each_item(page, visit, static_cast<std::size_t>(*most));
  if (!listed) return listed.error();
  if (!found) session.note(nothing_text(arguments));
  if (!found) session.note_empty_namespace();
  if (session.json()) {
    json.end();
  } else if (found) {
    table.print();
  }
  return done;
}

}  // namespace weir::cli
