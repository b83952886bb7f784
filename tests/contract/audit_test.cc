#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Audit);

/// "limits.set $SYSTEM", newest first.
std::vector<std::string> deeds(const Result<Page<AuditEvent>>& page) {
  std::vector<std::string> found;
  if (!page) return {page.error().message};
  for (const AuditEvent& event : page->items) found.push_back(event.action + " " + event.subject);
  return found;
}

using Deeds = std::vector<std::string>;

TEST_P(Audit, EventsAreFoundByTimeAndKind) {
  const Time start = now();
  set_system({{"rpm", "10/min"}});
  advance(1h);
  put("key", "project");
  ASSERT_TRUE(limiter.put_plan({.name = "pro", .limits = {.limits = {{"rpm", *Limit::parse("5/min")}}}}));
  advance(1h);
  ASSERT_TRUE(limiter.delete_limits(Level::system()));
  const Time hour = 3'600'000;
  EXPECT_EQ(deeds(limiter.audit_events({})),
            (Deeds{"limits.delete $SYSTEM", "plan.put $PLAN:pro", "entity.put key", "limits.set $SYSTEM"}));
  EXPECT_EQ(deeds(limiter.audit_events({.from = start + 1})),
            (Deeds{"limits.delete $SYSTEM", "plan.put $PLAN:pro", "entity.put key"}));
  EXPECT_EQ(deeds(limiter.audit_events({.from = start, .to = start + hour})), Deeds{"limits.set $SYSTEM"});
  EXPECT_EQ(deeds(limiter.audit_events({.from = start + hour, .to = start + hour + 1})),
            (Deeds{"plan.put $PLAN:pro", "entity.put key"}));
  EXPECT_EQ(deeds(limiter.audit_events({.kind = "limits"})),
            (Deeds{"limits.delete $SYSTEM", "limits.set $SYSTEM"}));
  EXPECT_EQ(deeds(limiter.audit_events({.kind = "limits.set"})), Deeds{"limits.set $SYSTEM"});
  EXPECT_EQ(deeds(limiter.audit_events({.subject = "key", .kind = "plan"})), Deeds{});
  EXPECT_EQ(deeds(limiter.audit_events({.kind = "lim"})), Deeds{}) << "a kind is a whole word";
  EXPECT_EQ(deeds(limiter.audit_events({.from = now() + 1})), Deeds{});
}

TEST_P(Audit, EventsAreFoundByPrincipalPageByPage) {
  auto alice = store_->open({.principal = "alice"});
  ASSERT_TRUE(alice);
  for (int i = 0; i < 3; ++i) {
    const std::string id = "key-" + std::to_string(i);
    ASSERT_TRUE(limiter.put_entity({.id = id}));
    // On memory every limiter has a store of its own.
    if (GetParam().name != "memory") {
      ASSERT_TRUE(alice->put_entity({.id = id, .name = "of alice"}));
    }
    advance(1s);
  }
  Limiter& reader = GetParam().name == "memory" ? limiter : *alice;
  const std::string who = GetParam().name == "memory" ? "library" : "alice";
  const AuditFilter filter{.principal = who};
  const auto first = reader.audit_events(filter, {.cursor = {}, .limit = 2});
  EXPECT_EQ(deeds(first), (Deeds{"entity.put key-2", "entity.put key-1"}));
  ASSERT_FALSE(first->next.empty());
  const auto last = reader.audit_events(filter, {.cursor = first->next, .limit = 2});
  EXPECT_EQ(deeds(last), Deeds{"entity.put key-0"});
  EXPECT_TRUE(last->next.empty());
  EXPECT_EQ(deeds(reader.audit_events({.principal = "bob"})), Deeds{});
}

TEST_P(Audit, MistakesAreNamed) {
  EXPECT_ERROR("invalid-argument", "empty", limiter.audit_events({.from = 5, .to = 5}));
  EXPECT_ERROR("invalid-argument", "\"Limits\"", limiter.audit_events({.kind = "Limits"}));
}

}  // namespace
}  // namespace weir::contract
