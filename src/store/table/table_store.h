// A store that decides in memory: the table of buckets and the catalog beside it.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "base/entropy.h"
#include "store/store.h"
#include "store/table/catalog.h"
#include "store/table/table.h"

namespace weir::table {

/// Safe to use from any thread. Every operation completes inline. The clock must outlive the store.
class TableStore : public store::Store, private store::UsageReader {
 public:
  TableStore(const Clock& clock, base::Entropy& entropy, Backing* backing = nullptr)
      : clock_(clock),
        // Odd seeds keep every bit in the products of the hash.
        table_(clock, {entropy.next() | 1U, entropy.next() | 1U}, entropy.next(), catalog_generation_,
               backing),
        catalog_(clock, catalog_generation_, table_, backing) {
    entropy.fill(lease_key_);
  }

  store::Buckets& buckets() override { return table_; }
  store::Catalog& catalog() override { return catalog_; }
  store::UsageReader& usage() override { return *this; }
  const store::LeaseKey& lease_key() const override { return lease_key_; }
  Result<void> health() const override { return {}; }
  Time now() const override { return clock_.now(); }
  std::vector<store::Counter> counters() const override { return table_.clock_watch().counters(); }
  std::vector<std::string> warnings() const override { return table_.clock_watch().warnings(); }
  Result<void> keep_audit_for(Time duration) override {
    catalog_.keep_audit_for(duration);
    return {};
  }
  Result<void> keep_usage(const store::UsageKept& kept) override {
    table_.keep_usage(kept);
    return {};
  }
  Result<std::vector<std::string>> namespaces() override {
    std::set<std::string> names;
    catalog_.add_namespaces(names);
    table_.add_namespaces(names);
    return std::vector<std::string>(names.begin(), names.end());
  }
  Result<void> erase_namespace(std::string_view name_space) override {
    return catalog_.erase_namespace(name_space);
  }
  /// How many buckets are in memory, including expired ones that are not cleaned up yet.
  std::size_t bucket_count() { return table_.size(); }

 private:
  void read(const store::UsageQuery& query, const store::Paging& paging,
            store::Completion<store::Page<Usage>> done) override {
    const auto after = usage::read_cursor(paging.cursor);
    if (!after) return done(after.error());
    done(table_.usage(query, *after, paging.limit));
  }

  const Clock& clock_;
  std::atomic<std::uint64_t> catalog_generation_{1};
  Table table_;
  TableCatalog catalog_;
  store::LeaseKey lease_key_{};
};

}  // namespace weir::table
