#include "gateway/client_check.h"

#include <algorithm>
#include <utility>

#include "limits/access.h"
#include "limits/names.h"

namespace weir::gateway {
namespace {

/// Whether the entity is exempt now, if only for one resource.
bool has_exemption(const store::Found& link) {
  return std::any_of(link.access.begin(), link.access.end(), [&](const AccessRule& rule) {
    return rule.access == Access::exempt && (!rule.until || *rule.until > link.now);
  });
}

}  // namespace

void ClientCheck::start(store::Catalog& catalog, std::string_view name_space, std::string_view entity,
                        std::string_view resource, bool takes_alias, store::Completion<ClientStanding> done) {
  catalog_ = &catalog;
  name_space_ = name_space;
  resource_ = resource;
  takes_alias_ = takes_alias;
  standing_ = {};
  names_.assign(1, std::string(entity));
  links_.clear();
  done_ = done;
  ask();
}

void ClientCheck::ask() {
  catalog_->find(name_space_, names_.back(), resource_,
                 {[](void* self, Result<store::Found>&& found) {
                    static_cast<ClientCheck*>(self)->found(std::move(found));
                  },
                  this});
}

void ClientCheck::found(Result<store::Found>&& found) {
  const auto done = *done_;
  if (!found) return done(found.error());
  links_.push_back(*std::move(found));
  const store::Found& link = links_.back();
  if (links_.size() == 1) {
    // A block or an exemption is about the client's own entity, known or not.
    standing_.known = standing_.known || link.known() || !link.access.empty();
    if (std::exchange(takes_alias_, false) && !link.alias.empty() && !is_blocked()) {
      standing_.known = true;
      // The exemption comes before the alias, but it may be for one resource, which is not known here.
      if (has_exemption(link)) return done(standing_);
      names_.assign(1, std::string(link.alias));
      links_.clear();
      return ask();
    }
  }
  if (!link.above.empty() && links_.size() < limits::max_chain) {
    names_.push_back(link.above);
    return ask();
  }
  standing_.blocked = is_blocked();
  done(standing_);
}

bool ClientCheck::is_blocked() const {
  std::vector<limits::AccessLink> chain;
  for (std::size_t i = 0; i < links_.size(); ++i) chain.push_back({names_[i], links_[i].access});
  // Rules for one resource are left to the decision: no resource has the empty name.
  const auto verdict = limits::judge_access(chain, {}, links_.front().now);
  return verdict && verdict->rule.access == Access::blocked;
}

}  // namespace weir::gateway
