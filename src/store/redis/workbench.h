// Decides in C++ what the script for plain charges leaves to us: buckets that do not stand under the limits
// of the plan, changes of leases that need more than a difference, mere looks. What was read from Redis is
// put into a table of its own, the same that other stores decide in, and what changed there is written back,
// under the condition that nobody else was faster. So every store means the same by the same words.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/site.h"
#include "store/redis/state.h"
#include "store/table/catalog.h"
#include "store/table/table.h"

namespace weir::redis {

/// Made for one attempt of one operation, as of one moment. Not safe for concurrent use.
class Workbench final : private table::Backing, private table::Sink, private Clock {
 public:
  Workbench(Time now, std::uint64_t catalog_generation, base::Entropy& entropy);
  ~Workbench() override;

  /// What was read: of buckets on the resource of the operation, and of the lease.
  void add(Found found);
  void set_marker(std::optional<table::Marker> marker) { marker_ = std::move(marker); }

  Result<store::Progress> acquire(const store::Plan& plan, Decision& decision);
  Result<store::Progress> peek(const store::Plan& plan, Decision& decision);
  Result<store::Progress> change(const store::LeasePlan& plan, store::LeaseOutcome& outcome);
  std::vector<Bucket> list(std::string_view name_space, std::string_view entity);

  /// Makes changes to a catalog that has what `past` says. `kept` gets what to write.
  struct CatalogWork {
    table::TableCatalog::Past past;
    std::function<Result<void>(const table::Draft& draft, const std::vector<store::AuditEvent>& events)> keep;
  };
  Result<std::vector<store::Changed>> change(const store::Changes& changes, CatalogWork work);

  /// What has to be written now.
  std::vector<Written> take_written();
  std::optional<table::Marker> take_marker() { return std::move(written_marker_); }

 private:
  struct Place {
    std::string entity;
    std::string resource;
    Found found;
  };
  const Found* find(std::string_view entity, std::string_view resource) const;
  static table::RecordPtr copy(const Found& found, const table::Key& key);

  // Backing
  Result<table::RecordPtr> load(const table::Key& key) override;
  Result<std::vector<table::RecordPtr>> load_all(std::string_view name_space,
                                                 std::string_view entity) override;
  Result<std::optional<table::Marker>> load_marker(const table::Nonce& nonce) override;
  Result<store::Page<store::AuditEvent>> audit(std::string_view name_space, std::string_view subject,
                                               const store::Paging& paging, Time oldest) override;
  Result<void> keep(std::string_view name_space, const table::Draft& draft,
                    const std::vector<store::AuditEvent>& events, const std::function<void()>& kept) override;
  // Sink
  void put(const table::Record& record) override;
  void put(const table::Nonce& nonce, const table::Marker& marker) override;
  // Clock
  Time now() const override { return now_; }

  const Time now_;
  std::atomic<std::uint64_t> catalog_generation_;
  table::Table table_;
  std::vector<Place> places_;
  std::optional<table::Marker> marker_;
  std::optional<table::Marker> written_marker_;
  std::vector<Written> written_;
  const CatalogWork* work_ = nullptr;
};

}  // namespace weir::redis
