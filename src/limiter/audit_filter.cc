// Events of the audit by time, principal and kind.
#include <algorithm>

#include "base/maxima.h"
#include "base/text.h"
#include "limiter/core.h"
#include "store/audit.h"

namespace weir::limiter {
namespace {

/// "limits" or "limits.set". Kinds that this version does not know are found, too: a later one may write
/// them.
bool is_kind(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '.' || c == '_'; });
}

Result<void> check_filter(const AuditFilter& filter) {
  if (filter.from >= filter.to)
    return base::invalid("the range of the audit is empty: from must be before to");
  if (is_kind(filter.kind)) return {};
  return base::invalid("kind ", base::quoted(filter.kind),
                       " is none; it is limits, entity, plan or namespace, or an action such as limits.set");
}

bool fits(const AuditEvent& event, const AuditFilter& filter) {
  if (event.at >= filter.to || event.at < filter.from) return false;
  if (!filter.principal.empty() && event.principal != filter.principal) return false;
  return filter.kind.empty() || event.action == filter.kind || event.action.starts_with(filter.kind + ".");
}

}  // namespace

Result<Page<AuditEvent>> Core::audit_events(const AuditFilter& filter, const Paging& paging) {
  if (auto checked = check_filter(filter); !checked) return checked.error();
  if (auto checked = check_paging(paging); !checked) return checked.error();
  Page<AuditEvent> page{.items = {}, .next = paging.cursor};
  const std::string first = store::audit_id(filter.from, 0);
  // Ids sort by time, newest first: begin with the last event before the end.
  if (page.next.empty() && filter.to <= store_.now()) page.next = store::audit_id(filter.to, 0);
  std::size_t read = 0;
  do {
    const Paging at{.cursor = page.next, .limit = maxima::page};
    auto part = audit(filter.subject, at);
    if (!part) return part;
    read += part->items.size();
    page.next = std::move(part->next);
    for (AuditEvent& event : part->items) {
      // The rest is older still.
      if (event.id < first) page.next.clear();
      if (!fits(event, filter)) continue;
      if (page.items.size() == paging.limit) {
        page.next = page.items.back().id;
        return page;
      }
      page.items.push_back(std::move(event));
    }
  } while (!page.next.empty() && page.items.size() < paging.limit && read < maxima::read_for_a_page);
  return page;
}

}  // namespace weir::limiter
