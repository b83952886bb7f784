#include "store/conditional/upkeep.h"

#include <algorithm>

#include "decision/lease_change.h"
#include "decision/next_state.h"
#include "store/conditional/paths.h"

namespace weir::conditional {

std::optional<Write> adopt(const BucketPlan& plan, const Record& item, const Settings& settings, Time now) {
  if (item.expires_at <= now) return std::nullopt;
  const WriteBuilder builder{settings, false, 0};
  BucketPlan with_sent = plan;
  if (auto as_stored = decision::resolve_as_stored(*plan.resolution, item, now))
    with_sent.resolution = std::move(as_stored);
  decision::Chain chain;
  const Evaluation evaluation = evaluate(chain, 0, with_sent, &item, now);
  if (is_stale(evaluation)) return std::nullopt;
  if (!decision::must_adopt(*evaluation.link)) return std::nullopt;
  Write write = builder.normal(evaluation);
  // New limits do not change the parent of the entity.
  write.set_parent.reset();
  return write;
}

Write convert(std::size_t bucket, Record record, Time now) {
  Write write = WriteBuilder::blank(Write::Path::convert, bucket);
  write.absent_at = now;
  write.item = std::move(record);
  write.dormant.emplace();
  return write;
}

Write absorb(std::size_t bucket, const Record& item, std::span<const Absorbed> limits,
             const Settings& settings) {
  using Effect = LimitWrite::Effect;
  Write write = WriteBuilder::blank(Write::Path::absorb, bucket);
  write.refilled_at = item.refilled_at;
  write.generation = item.generation;
  Time expires_at = 0;
  const auto hold = [&](const limits::Parameters& parameters, std::int64_t tokens) {
    const Time paid_at = bucket::moment_granted(parameters.rate, item.refilled_at, -tokens);
    const Time kept = limits::keep_for(parameters, limits::default_ttl_multiplier);
    expires_at = std::max(expires_at, base::saturating_add(paid_at, kept + settings.margin));
  };
  for (const Absorbed& absorbed : limits) {
    const bucket::LimitState* const same = item.find(absorbed.limit.name);
    LimitWrite& limit = write.limits.emplace_back();
    limit.name = absorbed.limit.name;
    limit.consumed = absorbed.limit.consumed;
    if (same == nullptr) {
      limit.absent = true;
      limit.effect = Effect::insert;
      limit.tokens = absorbed.limit.tokens;
      limit.parameters = absorbed.limit.parameters;
      hold(absorbed.limit.parameters, limit.tokens);
    } else {
      // Exactly as in the image, so that the expiry below covers the new balance.
      limit.at_least = limit.at_most = same->tokens;
      limit.effect = Effect::add;
      limit.tokens = -std::max<std::int64_t>(absorbed.lacks, 0);
      hold(same->parameters, same->tokens + limit.tokens);
    }
  }
  if (expires_at > item.expires_at) write.set_expires_at = expires_at;
  return write;
}

Write forget(std::size_t bucket) { return WriteBuilder::blank(Write::Path::forget, bucket); }

}  // namespace weir::conditional
