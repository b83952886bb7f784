// The counts of one thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "telemetry/metrics.h"

namespace weir::telemetry {

/// Classes of statuses, from 1xx to 5xx.
inline constexpr std::size_t status_classes = 5;

/// Written by one thread, read by all; `shared`: written by several. Starts on a cache line of its own.
struct alignas(64) Metrics::Shard {
  /// The outcomes of one pair of labels, on one cache line.
  struct alignas(64) Outcomes {
    std::array<Cell, outcome_names.size()> cells;
    Cell would_refuse;
  };
  static constexpr std::size_t pairs_in_page = 64;
  using Page = std::array<Outcomes, pairs_in_page>;

  Shard(std::size_t calls, std::size_t most_ids, bool shared_in)
      : shared(shared_in),
        requests(new Cell[calls * status_classes]()),
        page_count((most_ids + pairs_in_page - 1) / pairs_in_page),
        pages(new std::atomic<Page*>[page_count]()) {}
  ~Shard() {
    for (std::size_t i = 0; i < page_count; ++i) delete pages[i].load(std::memory_order_relaxed);
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// For the writing thread.
  Outcomes& outcomes(std::size_t id) {
    Page* page = pages[id / pairs_in_page].load(std::memory_order_acquire);
    if (page == nullptr) [[unlikely]]
      page = make_page(pages[id / pairs_in_page]);
    return (*page)[id % pairs_in_page];
  }
  /// For readers; null: nothing was counted.
  const Outcomes* find(std::size_t id) const {
    const Page* const page = pages[id / pairs_in_page].load(std::memory_order_acquire);
    return page == nullptr ? nullptr : &(*page)[id % pairs_in_page];
  }

  const bool shared;
  std::array<Durations, store_op_names.size()> durations;
  const std::unique_ptr<Cell[]> requests;  ///< by call, then by class of status
  const std::size_t page_count;
  const std::unique_ptr<std::atomic<Page*>[]> pages;

 private:
  static Page* make_page(std::atomic<Page*>& place) {
    auto page = std::make_unique<Page>();
    Page* expected = nullptr;
    if (place.compare_exchange_strong(expected, page.get(), std::memory_order_acq_rel)) return page.release();
    return expected;
  }
};

}  // namespace weir::telemetry
