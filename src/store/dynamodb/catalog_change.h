// One change of the catalog in DynamoDB.
//
// A change that fits into one transaction is one. A larger one is first written to a journal, part by part;
// the transaction that counts the change names the journal, and the next process that finds a journal there
// finishes it before its own change. So a change happens whole or not at all, though readers may see it
// partly applied for a while.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/dynamodb/blocking_calls.h"
#include "store/remote/catalog_change.h"

namespace weir::dynamodb {

/// How long a change of an entity's parent may keep its buckets from being created. After that the process
/// that announced it is presumed dead.
inline constexpr Time moving_for = 10'000;
/// Withdraws such an announcement.
ItemWrite unannounced(const Key& meta, const MoveAnnouncement& moving);

class CatalogChange final : public remote::CatalogChange {
 public:
  CatalogChange(Context& context, remote::Catalog& catalog, const store::Changes& changes,
                Time keep_audit_for)
      : remote::CatalogChange(catalog, changes),
        context_(context),
        calls_(context),
        keep_audit_for_(keep_audit_for) {}

 private:
  static constexpr std::size_t most_in_transaction = 100;

  Result<bool> begin() override;
  /// Announces that the parents of entities change, or that they are erased.
  Result<void> fence(const table::Draft& draft) override;
  void unfence(bool starts_over) override;
  Result<bool> has_bucket(const std::string& entity) override;
  Result<void> read_buckets(const table::Draft& draft) override;
  Time stamp_at() const override;
  Result<bool> commit(const table::Draft& draft, const std::vector<store::AuditEvent>& events) override;

  /// Reads head_ and pending_.
  Result<void> read_head();
  QueryOf buckets_of(std::string_view entity) const;
  static std::string resource_of(const Item& item);
  /// Drops the cache entries that the change has made out of date.
  void forget(const table::Draft& draft);

  // The writes (catalog_writes.cc).
  /// Everything that the draft changes, without the head.
  std::vector<ItemWrite> writes_of(const table::Draft& draft, const std::vector<store::AuditEvent>& events);
  Result<std::vector<ItemWrite>> writes_to_buckets(const table::Draft& draft);
  Result<void> add_alter(const table::Draft& draft, const std::string& entity, const Item& item,
                         std::vector<ItemWrite>& writes);
  Result<std::vector<ItemWrite>> buckets_of_erased(const table::Draft& draft);
  ItemWrite head_write(const table::Draft& draft, std::size_t events, const std::string& pending) const;
  /// Checks that the announcements are still in place, as many as fit into a transaction beside the head.
  std::vector<ItemWrite> announced_still() const;

  /// False: another change was written first.
  Result<bool> send(const std::vector<ItemWrite>& writes);
  // The journal (catalog_journal.cc).
  Result<bool> send_by_journal(const table::Draft& draft, std::size_t events,
                               const std::vector<ItemWrite>& writes);
  /// Carries out a journal.
  Result<void> roll_forward(const std::string& id);

  Context& context_;
  BlockingCalls calls_;
  const Time keep_audit_for_;
  std::string pending_;                                ///< a journal that is not finished yet
  std::map<std::string, std::vector<Item>> buckets_;   ///< of entities whose limits change
  std::map<std::string, MoveAnnouncement> announced_;  ///< by entity
};

}  // namespace weir::dynamodb
