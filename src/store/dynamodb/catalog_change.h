// One change of the catalog: reads what it depends on, checks and computes it as every store does, and writes
// it under the condition that the namespace's catalog has not changed meanwhile; if it has, once more from
// the beginning.
//
// What fits into one transaction is one. More is put down in a journal first, part by part; the transaction
// that counts the change names the journal, and whoever comes next and finds the name there finishes the work
// before anything else. So it happens together or not at all, though readers may see it come.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/dynamodb/asking.h"
#include "store/table/draft.h"

namespace weir::dynamodb {

/// How long a change of an entity's parent may keep buckets of it from being made. Past this whoever
/// announced it is taken for dead.
inline constexpr Time moving_for = 10'000;
/// Takes such an announcement back.
ItemWrite unannounced(const Key& meta, const Moving& moving);

/// Blocks. Not safe for concurrent use.
class CatalogChange {
 public:
  CatalogChange(Site& site, const store::Changes& changes, Time keep_audit_for)
      : site_(site),
        asking_(site),
        name_space_(changes.name_space),
        changes_(changes),
        keep_audit_for_(keep_audit_for) {}
  Result<std::vector<store::Changed>> run();

 private:
  /// What counts the changes.
  struct Head {
    std::int64_t generation = 0;
    std::int64_t stamp = 0;
    std::int64_t sequence = 0;
    Time audited_to = 0;
    std::string pending = {};
  };
  enum class Sent : unsigned char { done, overtaken };
  static constexpr int most_attempts = 100;
  static constexpr std::size_t most_in_transaction = 100;

  Result<std::vector<store::Changed>> attempt(bool& overtaken);
  Result<void> prepare();
  Result<Head> read_head();
  Result<void> read_concerned();
  Result<void> read_levels(const std::set<std::string>& keys);
  Result<void> read_entities(const std::set<std::string>& ids);
  Result<void> read_ancestors();
  Result<void> read_children(const std::set<std::string>& of, bool all_below);
  Result<std::vector<store::Changed>> draft_all(table::Draft& draft);
  /// Keeps buckets of entities from being made while their parent changes, or they are erased.
  Result<void> announce(const table::Draft& draft);
  /// Takes back what was announced and did not happen.
  void unannounce();
  /// Checks that all of it is as it was announced, as many as fit into a transaction beside the head.
  std::vector<ItemWrite> announced_still() const;
  Result<void> check_moved(const table::Draft& draft);
  std::vector<store::AuditEvent> sign(const table::Draft& draft);

  /// Everything that the draft changes, without the head.
  std::vector<ItemWrite> writes_of(const table::Draft& draft, const std::vector<store::AuditEvent>& events);
  /// Buckets that have to know of new limits at once.
  Result<void> read_buckets(const table::Draft& draft);
  Result<std::vector<ItemWrite>> writes_to_buckets(const table::Draft& draft);
  Result<void> add_alter(const table::Draft& draft, const std::string& entity, const Item& item,
                         std::vector<ItemWrite>& writes);
  Result<std::vector<ItemWrite>> buckets_of_erased(const table::Draft& draft);
  ItemWrite head_write(const table::Draft& draft, std::size_t events, const std::string& pending) const;

  Result<Sent> send(std::vector<ItemWrite> writes);
  // The journal (catalog_journal.cc).
  Result<Sent> send_by_journal(const table::Draft& draft, std::size_t events,
                               const std::vector<ItemWrite>& writes);
  /// Carries out what a journal says.
  Result<void> roll_forward(const std::string& id);
  void tell(std::size_t done);

  Site& site_;
  Asking asking_;
  const std::string_view name_space_;
  const store::Changes& changes_;
  const Time keep_audit_for_;
  Time now_ = 0;
  int attempts_ = 0;
  std::size_t told_ = 0;
  Head head_;
  table::Tenant tenant_;
  std::set<std::string> looked_up_;
  std::map<std::string, std::vector<Item>> buckets_;  ///< of entities whose limits change
  std::map<std::string, Moving> announced_;           ///< by entity
};

}  // namespace weir::dynamodb
