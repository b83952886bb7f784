#include "limiter/resolver.h"

#include <algorithm>

#include "base/maxima.h"
#include "base/text.h"
#include "limits/names.h"

namespace weir::limiter {
namespace {

using limits::Resolution;
using limits::ResolutionRef;

// With more distinct resolutions than this, few are shared: the cache is cleared instead of growing.
constexpr std::size_t most_shared = maxima::shared_resolutions;

}  // namespace

base::Ref<Resolution> SharedResolutions::make(const store::Found& found,
                                              const limits::LimitSetRef& request_limits,
                                              const ResolutionRef& parent) const {
  auto resolution = limits::resolve(found.levels, request_limits, found.now, ttl_multiplier_);
  resolution->catalog_generation = found.generation;
  if (parent) {
    resolution->parent = found.parent;
    resolution->parent_resolution = parent;
    // A chain is as current as its oldest link.
    resolution->valid_until = std::min(resolution->valid_until, parent->valid_until);
  }
  return resolution;
}

ResolutionRef SharedResolutions::resolve(const store::Found& found, const limits::LimitSetRef& request_limits,
                                         const ResolutionRef& parent, limits::AccessVerdictRef access) const {
  auto resolution = make(found, request_limits, parent);
  if (access->rule.until) resolution->valid_until = std::min(resolution->valid_until, *access->rule.until);
  resolution->access = std::move(access);
  return ResolutionRef(resolution.get());
}

ResolutionRef SharedResolutions::resolve(const store::Found& found, const limits::LimitSetRef& request_limits,
                                         const ResolutionRef& parent) {
  const auto& levels = found.levels;
  if (levels[0] || levels[1] || levels.plan_stamp != 0)
    return ResolutionRef(make(found, request_limits, parent).get());
  const Origin origin(levels[4].get(), levels[5].get(), request_limits.get(), parent.get(), found.parent);
  const base::Guard guard(mutex_);
  if (generation_ != found.generation || resolutions_.size() >= most_shared) {
    resolutions_.clear();
    generation_ = found.generation;
  }
  ResolutionRef& shared = resolutions_[origin];
  if (!shared || shared->valid_until <= found.now)
    shared = ResolutionRef(make(found, request_limits, parent).get());
  return shared;
}

void Walk::start(const Subject& subject, store::Completion<ResolutionRef> done) {
  subject_ = subject;
  done_ = done;
  links_.clear();
  ask(subject_.entity);
}

void Walk::ask(std::string_view entity) {
  catalog_.find(
      subject_.name_space, entity, subject_.resource,
      {[](void* self, Result<store::Found>&& found) { static_cast<Walk*>(self)->found(std::move(found)); },
       this});
}

void Walk::found(Result<store::Found>&& found) {
  if (!found) return finish(found.error());
  if (!links_.empty() && found->generation != links_.front().generation) {
    // The catalog changed during the walk: the links are of different generations.
    links_.clear();
    if (++restarts_ >= patient_attempts) held_.hold();
    return ask(subject_.entity);
  }
  links_.push_back(*std::move(found));
  if (is_cycle()) {
    return finish(base::error(ErrorCode::unavailable, "entity ", base::quoted(links_.back().above),
                              " is its own ancestor in the store, which weir does not write; put it with "
                              "another parent, or delete it"));
  }
  // Charges may end further down, but a block holds for every descendant.
  if (!links_.back().above.empty() && links_.size() < limits::max_chain) return ask(links_.back().above);
  finish(assemble());
}

/// Whether the parent of the last link is in the chain already. Only another program can have written that.
bool Walk::is_cycle() const {
  const std::string& above = links_.back().above;
  if (above.empty()) return false;
  if (above == subject_.entity) return true;
  return std::any_of(links_.begin(), links_.end() - 1,
                     [&](const store::Found& link) { return link.above == above; });
}

void Walk::finish(Result<ResolutionRef> resolution) {
  held_.release();
  (*done_)(std::move(resolution));
}

/// The rule of access that holds for the entity of a link; empty: none.
limits::AccessVerdictRef Walk::judge(std::size_t link) const {
  const limits::LimitsRecordRef& system = links_.front().levels.records.back();
  if (system && system->name_space.purged_at != 0) [[unlikely]]
    return limits::judge_namespace(system->name_space, subject_.name_space, subject_.entity);
  const auto has_rules = [](const store::Found& one) { return !one.access.empty(); };
  if (std::none_of(links_.begin(), links_.end(), has_rules)) [[likely]]
    return {};
  std::vector<limits::AccessLink> chain;
  for (std::size_t i = link; i < links_.size(); ++i)
    chain.push_back({i == 0 ? subject_.entity : std::string_view(links_[i - 1].above), links_[i].access});
  return limits::judge_access(chain, subject_.resource, links_.front().now);
}

/// Resolves from the end of the chain of charges to its beginning, and links each resolution to its parent's.
ResolutionRef Walk::assemble() {
  const auto ends = [](const store::Found& link) { return link.parent.empty(); };
  const auto last = std::find_if(links_.begin(), links_.end() - 1, ends);
  ResolutionRef resolution;
  for (auto i = static_cast<std::size_t>(last - links_.begin()) + 1; i-- > 0;) {
    // Limits sent with the request are for the entity's own bucket only.
    const limits::LimitSetRef sent = i == 0 ? subject_.request_limits : limits::LimitSetRef();
    auto access = judge(i);
    resolution = access ? shared_.resolve(links_[i], sent, resolution, std::move(access))
                        : shared_.resolve(links_[i], sent, resolution);
  }
  return resolution;
}

}  // namespace weir::limiter
