// Records that a store returned and that cannot be used: something else than weir wrote them, or the data is
// damaged. Every reader reports them here, so that an operator hears of each of them once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/lock.h"
#include "store/counter.h"
#include "store/finding.h"

namespace weir::store {

/// Safe to use from any thread.
class BadRecords {
 public:
  /// `sentence` names the record, says what is wrong with it and what to do.
  void report(const std::string& sentence) {
    const base::Guard guard(mutex_);
    ++met_;
    if (warnings_.size() >= most_named) return;
    if (std::find(warnings_.begin(), warnings_.end(), sentence) == warnings_.end())
      warnings_.push_back(sentence);
  }
  /// Each sentence once, the oldest first; no more than `most_named`.
  std::vector<std::string> warnings() const {
    const base::Guard guard(mutex_);
    return warnings_;
  }
  Counter counter() const {
    const base::Guard guard(mutex_);
    return {"weir_store_bad_records_total",
            "Reads of a record that cannot be used: see the log, or weir store check.",
            {},
            static_cast<double>(met_)};
  }
  /// For a check, which reads each record once.
  void add_to(std::vector<Finding>& findings) const {
    constexpr std::size_t most_found = 20;
    const base::Guard guard(mutex_);
    if (met_ == 0) return findings.push_back({Severity::ok, "records", "every record can be used"});
    const std::size_t named = std::min(warnings_.size(), most_found);
    for (std::size_t i = 0; i < named; ++i) findings.push_back({Severity::failure, "record", warnings_[i]});
    if (met_ > named)
      findings.push_back(
          {Severity::failure, "records", std::to_string(met_ - named) + " more records cannot be used"});
  }

 private:
  /// More would fill the log; `weir store check` counts all of them.
  static constexpr std::size_t most_named = 100;
  mutable base::Mutex mutex_;
  std::uint64_t met_ WEIR_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> warnings_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::store
