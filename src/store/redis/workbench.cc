#include "store/redis/workbench.h"

#include <cstring>

#include "store/completion.h"

namespace weir::redis {

using store::Progress;

Workbench::Workbench(Time now, std::uint64_t catalog_generation, base::Entropy& entropy)
    : now_(now),
      catalog_generation_(catalog_generation),
      // Below 2^52, so that it is exact as a double.
      table_(*this, {entropy.next() | 1U, entropy.next() | 1U}, (entropy.next() >> 12U) | 1U,
             catalog_generation_, this) {}

Workbench::~Workbench() = default;

void Workbench::add(Found found) {
  if (!found.record) return;
  std::string entity(found.record->entity());
  std::string resource(found.record->resource());
  places_.push_back({std::move(entity), std::move(resource), std::move(found)});
}

const Found* Workbench::find(std::string_view entity, std::string_view resource) const {
  for (const Place& place : places_) {
    if (place.entity == entity && place.resource == resource) return &place.found;
  }
  return nullptr;
}

table::RecordPtr Workbench::copy(const Found& found, const table::Key& key) {
  const table::Record& from = *found.record;
  table::RecordPtr record(table::Record::make(key, from.limits));
  record->refilled_at = from.refilled_at;
  record->version = from.version;
  record->expires_at = from.expires_at;
  record->generation = from.generation;
  record->resolution = from.resolution;
  record->stored = true;
  record->dormant = from.dormant;
  std::memcpy(record->balances(), from.balances(), from.limit_count * sizeof(table::Balance));
  return record;
}

Result<table::RecordPtr> Workbench::load(const table::Key& key) {
  const Found* const found = find(key.entity, key.resource);
  return found == nullptr ? table::RecordPtr() : copy(*found, key);
}

Result<std::vector<table::RecordPtr>> Workbench::load_all(std::string_view name_space,
                                                          std::string_view entity) {
  std::vector<table::RecordPtr> records;
  for (const Place& place : places_) {
    if (place.entity == entity) records.push_back(copy(place.found, {name_space, entity, place.resource}));
  }
  return records;
}

Result<std::optional<table::Marker>> Workbench::load_marker(const table::Nonce& /*nonce*/) { return marker_; }

Result<store::Page<store::AuditEvent>> Workbench::audit(std::string_view /*name_space*/,
                                                        std::string_view /*subject*/,
                                                        const store::Paging& /*paging*/, Time /*oldest*/) {
  return store::Page<store::AuditEvent>{};
}

Result<void> Workbench::keep(std::string_view /*name_space*/, const table::Draft& draft,
                             const std::vector<store::AuditEvent>& events,
                             const std::function<void()>& kept) {
  if (auto done = work_->keep(draft, events); !done) return done;
  kept();
  return {};
}

void Workbench::put(const table::Record& record) {
  const Found* const before = find(record.entity(), record.resource());
  written_.push_back(write_bucket(record, before == nullptr ? State() : before->state));
}

void Workbench::put(const table::Nonce& /*nonce*/, const table::Marker& marker) { written_marker_ = marker; }

std::vector<Written> Workbench::take_written() {
  table_.capture(*this);
  return std::move(written_);
}

Result<Progress> Workbench::acquire(const store::Plan& plan, Decision& decision) {
  return store::wait_for<Progress>([&](auto done) { table_.acquire(plan, decision, done); });
}

Result<Progress> Workbench::peek(const store::Plan& plan, Decision& decision) {
  return store::wait_for<Progress>([&](auto done) { table_.peek(plan, decision, done); });
}

Result<Progress> Workbench::change(const store::LeasePlan& plan, store::LeaseOutcome& outcome) {
  return store::wait_for<Progress>([&](auto done) { table_.change(plan, outcome, done); });
}

std::vector<Bucket> Workbench::list(std::string_view name_space, std::string_view entity) {
  auto page = store::wait_for<store::Page<Bucket>>(
      [&](auto done) { table_.list(name_space, entity, {.cursor = {}, .limit = places_.size() + 1}, done); });
  return page ? std::move(page->items) : std::vector<Bucket>();
}

Result<std::vector<store::Changed>> Workbench::change(const store::Changes& changes, CatalogWork work) {
  table::TableCatalog catalog(*this, catalog_generation_, table_, this);
  catalog.resume(std::move(work.past));
  work_ = &work;
  auto changed =
      store::wait_for<std::vector<store::Changed>>([&](auto done) { catalog.change(changes, done); });
  work_ = nullptr;
  return changed;
}

}  // namespace weir::redis
