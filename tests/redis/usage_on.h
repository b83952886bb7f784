// A store in Redis, or in a cluster, whose usage is tested.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "app/open_store.h"
#include "base/entropy.h"
#include "store/store.h"
#include "weir/weir.h"

namespace weir::tests {

constexpr Time hour = 3'600'000;
constexpr Time first_hour = Time{472'222} * hour;  // in the middle of a day

/// A server or a cluster, a clock, and processes on it.
class UsageOn {
 public:
  explicit UsageOn(std::string url) : url_(std::move(url)) {
    EXPECT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "1000/min"}, {"tpm", "100000/min"}}));
  }

  Limiter open() {
    auto opened = Limiter::open(url_, {.clock = &clock});
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  void take(const std::string& entity, const std::vector<Charge>& charges,
            const AcquireOptions& options = {}) {
    const auto decision = limiter.acquire(entity, "r", charges, options);
    ASSERT_TRUE(decision) << decision.error().message;
    ASSERT_TRUE(decision->admitted());
  }
  /// "r+0 2: rpm=2 tpm=500": resource, hours since the first one, events, amounts; one word for each
  /// row.
  std::string used(const store::UsageQuery& query, std::size_t page_size = 100) {
    std::string out;
    weir::Paging paging{.cursor = {}, .limit = page_size};
    do {
      const auto page =
          store::wait_for<weir::Page<Usage>>([&](auto done) { store_->usage().read(query, paging, done); });
      if (!page) return page.error().message;
      EXPECT_LE(page->items.size(), page_size);
      for (const Usage& row : page->items) {
        out += row.entity + " " + row.resource + "+" + std::to_string((row.start - first_hour) / hour);
        out += (row.window == UsageWindow::day ? " day " : " ") + std::to_string(row.events) + ":";
        for (const UsedAmount& limit : row.limits) out += " " + limit.limit + "=" + limit.amount.to_string();
        out += "\n";
      }
      paging.cursor = page->next;
    } while (!paging.cursor.empty());
    return out;
  }
  std::string used(const std::string& entity) {
    return used(
        {.name_space = "default", .entity = entity, .from = 0, .to = first_hour + 10'000 * 24 * hour});
  }
  std::string used_on(const std::string& resource, std::size_t page_size = 100) {
    return used(
        {.name_space = "default", .resource = resource, .from = 0, .to = first_hour + 10'000 * 24 * hour},
        page_size);
  }
  store::UsageCollected collect() {
    const auto collected = store_->usage().collect();
    EXPECT_TRUE(collected) << collected.error().message;
    return collected ? *collected : store::UsageCollected();
  }
  store::Store& store() { return *store_; }

  FakeClock clock{first_hour};

 private:
  std::shared_ptr<store::Store> open_store() {
    const std::shared_ptr<const Clock> shared(std::shared_ptr<const Clock>(), &clock);
    auto opened = app::open_store(url_, {.clock = &clock}, shared, entropy_);
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  const std::string url_;
  base::SystemEntropy entropy_;

 public:
  Limiter limiter = open();

 private:
  std::shared_ptr<store::Store> store_ = open_store();
};

}  // namespace weir::tests
