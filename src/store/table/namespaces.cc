// The namespaces in memory: which there are, the state of one, and how one is erased.
#include "store/table/catalog.h"
#include "store/table/table.h"

namespace weir::table {

void TableCatalog::add_namespaces(std::set<std::string>& names) {
  const base::Guard guard(mutex_);
  for (const auto& [name, tenant] : tenants_) {
    if (!tenant.limits.empty() || !tenant.plans.empty() || !tenant.entities.empty()) names.insert(name);
  }
}

void TableCatalog::mark(std::string_view name_space, store::Completion<limits::NamespaceMark> done) {
  limits::NamespaceMark mark;
  {
    const base::Guard guard(mutex_);
    const auto in = tenants_.find(name_space);
    if (in != tenants_.end()) {
      const auto system = in->second.limits.find(level_key(Level::system()));
      if (system != in->second.limits.end()) mark = system->second->name_space;
    }
  }
  done(mark);
}

Result<void> TableCatalog::erase_namespace(std::string_view name_space) {
  while (const int holds = holds_.load(std::memory_order_relaxed)) holds_.wait(holds);
  const base::Guard guard(mutex_);
  // From here until the lock is released no bucket is created: existing plans are out of date, and new ones
  // wait for the lock.
  generation_.fetch_add(1, std::memory_order_acq_rel);
  const auto erased = [&]() WEIR_NOT_ANALYSED {
    if (const auto found = tenants_.find(name_space); found != tenants_.end()) tenants_.erase(found);
    table_.forget_namespace(name_space);
  };
  if (backing_ != nullptr) return backing_->erase_namespace(name_space, erased);
  erased();
  return {};
}

void Table::add_namespaces(std::set<std::string>& names) {
  const Time now = clock_.now();
  for (std::size_t i = 0; i < shard_count; ++i) {
    const base::Guard guard(shards_[i].lock);
    shards_[i].map.for_each([&](const Record& record) {
      if (record.expires_at > now) names.emplace(record.name_space());
    });
  }
}

void Table::forget_namespace(std::string_view name_space) {
  for (std::size_t i = 0; i < shard_count; ++i) {
    Shard& shard = shards_[i];
    const base::Guard guard(shard.lock);
    shard.map.erase_if([&](const Record& record) { return record.name_space() == name_space; });
    std::erase_if(shard.closed, [&](const ClosedSegment& one) { return one.name_space == name_space; });
    shard.ledger.erase_namespace(name_space);
  }
}

void UsageLedger::erase_namespace(std::string_view name_space) {
  std::erase_if(rows_, [&](const auto& row) { return std::get<0>(row.first) == name_space; });
  std::erase_if(by_resource_, [&](const ByResource& row) { return std::get<0>(row) == name_space; });
}

}  // namespace weir::table
