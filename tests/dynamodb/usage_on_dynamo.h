// A table whose stream is counted, and the usage in it.
#pragma once

#include "dynamodb/table.h"
#include "store/dynamodb/aggregation.h"
#include "store/dynamodb/usage_items.h"

namespace weir::dynamodb {

inline constexpr Time first_hour = start_of_time / usage::hour * usage::hour;

class UsageOnDynamo : public testing::Test {
 protected:
  UsageOnDynamo() {
    table.clock.set(first_hour);
    EXPECT_TRUE(admin.set_limits(Level::system(), {{"rpm", "1000000/min"}, {"tpm", "1000000/min"}}));
  }
  AggregationOptions options() const {
    AggregationOptions options;
    options.store = {.table = table.table, .endpoint = table.endpoint, .deadline = 60s};
    options.worker.batch = 1;
    options.worker.poll_idle = 5;
    options.worker.poll_busy = 5;
    options.report = [](const std::string& message) { ADD_FAILURE() << message; };
    return options;
  }
  /// Counts everything.
  void count() {
    auto aggregation = Aggregation::start(options());
    ASSERT_TRUE(aggregation) << aggregation.error().message;
    EXPECT_TRUE((*aggregation)->count_all(60s)) << (*aggregation)->state().trouble;
    EXPECT_EQ((*aggregation)->state().trimmed, 0U);
    EXPECT_EQ((*aggregation)->state().made_good, 0U);
    (*aggregation)->stop(30s);
  }
  Decision acquire(Limiter& limiter, const std::string& entity, const std::vector<Charge>& charges,
                   bool counts = true) {
    AcquireOptions how;
    how.usage = counts;
    auto decision = limiter.acquire(entity, "gpt-4", charges, how);
    EXPECT_TRUE(decision && decision->admitted());
    return *std::move(decision);
  }
  /// "key gpt-4 +0h 2: rpm=2 tpm=500 | ...".
  std::string used(const store::UsageQuery& query, std::size_t page_size = 100) {
    auto store = table.store();
    std::string out;
    Paging paging{.cursor = {}, .limit = page_size};
    do {
      const auto page = store::wait_for<Page<Usage>>(
          [&](store::Completion<Page<Usage>> done) { store->usage().read(query, paging, done); });
      if (!page) return page.error().message;
      EXPECT_LE(page->items.size(), page_size);
      for (const Usage& row : page->items) {
        if (!out.empty()) out += " | ";
        const Time hours = (row.start - first_hour) / usage::hour;
        out += row.entity + " " + row.resource + (hours < 0 ? " " : " +") + std::to_string(hours) +
               (row.window == UsageWindow::hour ? "h " : "h(day) ") + std::to_string(row.events) + ":";
        for (const UsedAmount& limit : row.limits) out += " " + limit.limit + "=" + limit.amount.to_string();
      }
      paging.cursor = page->next;
    } while (!paging.cursor.empty());
    return out;
  }
  std::string used_by(std::string_view entity) {
    return used({.name_space = "default", .entity = entity, .to = last_window});
  }

  TestTable table;
  Limiter admin = table.limiter();
};

}  // namespace weir::dynamodb
