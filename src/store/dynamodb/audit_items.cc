// Items of audit events.
#include "base/wide.h"
#include "store/dynamodb/item_parts.h"
#include "store/dynamodb/items.h"

namespace weir::dynamodb {

using wire::aws::integer_of;
using wire::aws::text_of;

Item write_event(const Key& key, const store::AuditEvent& event, Time keep_for) {
  Item item{{"PK", Value::of(key.pk)},
            {"SK", Value::of(key.sk)},
            {"event_id", Value::of(event.id)},
            {"time", number(event.at)},
            {"principal", Value::of(event.principal)},
            {"action", Value::of(event.action)},
            {"subject", Value::of(event.subject)},
            {"ttl", number(to_ttl(base::saturating_add(event.at, keep_for)))}};
  if (!event.resource.empty()) add(item, "resource", Value::of(event.resource));
  if (!event.before.empty()) add(item, "before", Value::of(event.before));
  if (!event.after.empty()) add(item, "after", Value::of(event.after));
  return item;
}

Result<store::AuditEvent> read_event(const Item& item) {
  store::AuditEvent event;
  event.id = text_of(item, "event_id");
  const auto at = integer_of(item, "time");
  if (event.id.empty() || !at) return damaged(item, "no event in it");
  event.at = *at;
  event.principal = text_of(item, "principal");
  event.action = text_of(item, "action");
  event.subject = text_of(item, "subject");
  event.resource = text_of(item, "resource");
  event.before = text_of(item, "before");
  event.after = text_of(item, "after");
  return event;
}

}  // namespace weir::dynamodb
