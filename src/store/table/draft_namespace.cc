// The state of the namespace in a draft: created, purged, restored.
#include "base/text.h"
#include "store/audit.h"
#include "store/table/draft.h"

namespace weir::table {
namespace {

using base::error;
using limits::NamespaceMark;
using store::NamespaceWrite;

/// The state after a change, or why it cannot be made. To create or purge a second time changes nothing.
Result<NamespaceMark> next_mark(NamespaceMark mark, const NamespaceWrite& write, Time now) {
  const bool purged = mark.purged_at != 0;
  switch (write.verb) {
    case NamespaceWrite::Verb::create:
      if (purged)
        return error(ErrorCode::conflict, "the namespace was purged; restore it, or purge it again");
      if (mark.created_at == 0) mark.created_at = now;
      return mark;
    case NamespaceWrite::Verb::purge:
      if (purged) return mark;
      mark.purged_at = now;
      mark.kept_until = std::min(base::saturating_add(now, write.keep_for), limits::latest_stamp);
      return mark;
    default:
      if (!purged) return error(ErrorCode::not_found, "the namespace was not purged");
      if (mark.kept_until <= now)
        return error(ErrorCode::conflict, "the time in which the namespace could be restored is over");
      mark.purged_at = mark.kept_until = 0;
      return mark;
  }
}

const char* action_of(NamespaceWrite::Verb verb) {
  switch (verb) {
    case NamespaceWrite::Verb::create:
      return "namespace.create";
    case NamespaceWrite::Verb::purge:
      return "namespace.purge";
    default:
      return "namespace.restore";
  }
}

}  // namespace

/// The limits of the system stay as they are, with their stamp: buckets have nothing to follow.
Result<store::Changed> Draft::apply(const NamespaceWrite& write) {
  const std::string key = level_key(Level::system());
  const limits::LimitsRecordRef old = record(key);
  auto mark = next_mark(old ? old->name_space : NamespaceMark(), write, now_);
  if (!mark) return mark.error();
  if (old && old->name_space == *mark) return store::Changed{.limits = old};
  auto next = old ? base::make_ref<limits::LimitsRecord>(*old) : next_record({}, {}, next_stamp());
  next->name_space = *mark;
  const limits::LimitsRecordRef written(next.get());
  limits_[key] = written;
  events_.push_back(store::namespace_event(action_of(write.verb), *mark));
  return store::Changed{.limits = written};
}

}  // namespace weir::table
