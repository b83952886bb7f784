#include "store/sqlite/copy_reader.h"

#include <cstring>
#include <limits>

#include "base/text.h"
#include "store/audit.h"

namespace weir::sqlite {
namespace {

constexpr std::size_t rows_at_once = 500;

constexpr const char* select_namespaces =
    "SELECT namespace FROM limits UNION SELECT namespace FROM entities UNION SELECT namespace FROM buckets "
    "UNION SELECT namespace FROM audit UNION SELECT namespace FROM usage WHERE ?1 = ''";
constexpr const char* select_used_entities =
    "SELECT entity FROM usage WHERE namespace = ?1 UNION "
    "SELECT entity FROM buckets WHERE namespace = ?1 AND usage_events > 0";

}  // namespace

Result<store::CopySettings> FileCopyReader::settings() {
  store::CopySettings settings;
  settings.keep_audit_for = store::keep_audit_for_by_default;
  bool has_key = false;
  Statement rows(*database_, "SELECT name, value FROM settings");
  rows.begin();
  for (;;) {
    auto row = rows.step();
    if (!row) return row.error();
    if (!*row) break;
    const std::string_view name = rows.text(0);
    if (name == "lease_key" && rows.text(1).size() == settings.lease_key.size()) {
      std::memcpy(settings.lease_key.data(), rows.text(1).data(), settings.lease_key.size());
      has_key = true;
      continue;
    }
    const std::int64_t number = rows.integer(1);
    if (number <= 0) continue;
    if (name == "keep_audit_for_ms") settings.keep_audit_for = number;
    if (name == "keep_usage_hours_for_ms") settings.keep_usage.hours = number;
    if (name == "keep_usage_days_for_ms") settings.keep_usage.days = number;
  }
  if (has_key) return settings;
  return base::error(ErrorCode::not_found, database_->path(),
                     ": has no lease key, so that no weir has used it yet; check the path");
}

Result<FileCopyReader::Texts> FileCopyReader::texts(const char* sql, std::string_view bound) {
  Texts found;
  Statement rows(*database_, sql);
  rows.begin().bind(bound);
  for (;;) {
    auto row = rows.step();
    if (!row) return row.error();
    if (!*row) return found;
    found.emplace_back(rows.text(0));
  }
}

Result<void> FileCopyReader::read(const store::CopyScope& scope, const store::CopyPages::Visit& visit) {
  store::CopyPages pages(scope, visit);
  namespace_of_.clear();
  auto past = reader_.past();
  if (!past) return past.error();
  const auto namespaces = texts(select_namespaces, "");
  if (!namespaces) return namespaces.error();
  for (const auto& [name_space, tenant] : past->tenants) {
    if (auto read = read_catalog(name_space, tenant, pages); !read) return read;
  }
  for (const std::string& name_space : *namespaces) {
    // The buckets of other namespaces tell which leases are theirs.
    if (auto read = read_buckets(name_space, pages); !read) return read;
    if (!pages.wants(name_space)) continue;
    for (const auto step : {&FileCopyReader::read_usage, &FileCopyReader::read_audit}) {
      if (auto read = (this->*step)(name_space, pages); !read) return read;
    }
  }
  if (auto read = read_leases(*namespaces, pages); !read) return read;
  if (const auto bad = reader_.bad().warnings(); !bad.empty()) return store::cannot_be_copied(bad.front());
  return pages.flush();
}

Result<void> FileCopyReader::read_catalog(const std::string& name_space, const table::Tenant& tenant,
                                          store::CopyPages& pages) {
  for (const auto& [key, record] : tenant.limits) {
    auto added = pages.add({name_space, store::CopiedLimits{table::level_of(key), record}});
    if (!added) return added;
  }
  for (const auto& [name, record] : tenant.plans) {
    if (auto added = pages.add({name_space, store::CopiedPlan{name, record}}); !added) return added;
  }
  for (const auto& [id, entity] : tenant.entities) {
    if (auto added = pages.add({name_space, entity}); !added) return added;
  }
  return {};
}

Result<void> FileCopyReader::read_buckets(const std::string& name_space, store::CopyPages& pages) {
  store::Paging paging{.cursor = {}, .limit = rows_at_once};
  do {
    // Expired ones too, which tell the namespace of their leases; the pages leave them out.
    auto page = reader_.records(name_space, "", paging, 0);
    if (!page) return page.error();
    for (const table::RecordPtr& record : page->items) {
      namespace_of_.emplace(record->generation, name_space);
      store::CopiedBucket bucket{std::string(record->entity()), std::string(record->resource()),
                                 table::state_of(*record), record->counts_usage()};
      if (auto added = pages.add({name_space, std::move(bucket)}); !added) return added;
    }
    paging.cursor = page->next;
  } while (!paging.cursor.empty());
  return {};
}

Result<void> FileCopyReader::read_usage(const std::string& name_space, store::CopyPages& pages) {
  const auto entities = texts(select_used_entities, name_space);
  if (!entities) return entities.error();
  for (const std::string& entity : *entities) {
    const store::UsageQuery query{.name_space = name_space,
                                  .entity = entity,
                                  .resource = {},
                                  .from = 0,
                                  .to = std::numeric_limits<Time>::max()};
    usage::Position after;
    for (bool more = true; more;) {
      auto page = reader_.usage(query, after, rows_at_once);
      if (!page) return page.error();
      if (!page->items.empty()) after = usage::position_of(page->items.back(), true);
      for (Usage& row : page->items) {
        if (auto added = pages.add_usage(name_space, std::move(row)); !added) return added;
      }
      more = !page->next.empty();
    }
    if (auto ended = pages.end_usage(); !ended) return ended;
  }
  return {};
}

Result<void> FileCopyReader::read_audit(const std::string& name_space, store::CopyPages& pages) {
  store::Paging paging{.cursor = {}, .limit = rows_at_once};
  do {
    auto page = reader_.audit(name_space, "", paging, 0);
    if (!page) return page.error();
    for (store::AuditEvent& event : page->items) {
      if (auto added = pages.add({name_space, std::move(event)}); !added) return added;
    }
    paging.cursor = page->next;
  } while (!paging.cursor.empty());
  return {};
}

Result<void> FileCopyReader::read_leases(const Texts& namespaces, store::CopyPages& pages) {
  Statement rows(*database_, "SELECT nonce FROM leases WHERE deadline_ms > ?1");
  rows.begin().bind(pages.alive_at());
  for (;;) {
    auto row = rows.step();
    if (!row) return row.error();
    if (!*row) return {};
    table::Nonce nonce{};
    if (rows.text(0).size() != sizeof nonce) continue;
    std::memcpy(nonce.data(), rows.text(0).data(), sizeof nonce);
    if (auto added = add_lease(nonce, namespaces, pages); !added) return added;
  }
}

/// A lease whose buckets have all expired may be of any namespace, so it becomes a record in each.
Result<void> FileCopyReader::add_lease(const table::Nonce& nonce, const Texts& namespaces,
                                       store::CopyPages& pages) {
  auto marker = reader_.load_marker(nonce);
  if (!marker) return store::cannot_be_copied(marker.error().message);
  if (!*marker) return {};
  store::CopiedLease lease{{}, nonce, **std::move(marker)};
  if (!lease.marker.buckets.empty()) lease.entity = lease.marker.buckets.front().entity;
  for (const decision::LeaseBucket& bucket : lease.marker.buckets) {
    const auto found = namespace_of_.find(bucket.generation);
    if (found != namespace_of_.end()) return pages.add({found->second, std::move(lease)});
  }
  for (const std::string& name_space : namespaces) {
    if (auto added = pages.add({name_space, lease}); !added) return added;
  }
  return {};
}

}  // namespace weir::sqlite
