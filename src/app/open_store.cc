#include "app/open_store.h"

#include "base/text.h"
#include "limiter/core.h"
#include "limits/names.h"
#include "store/memory/memory_store.h"
#include "weir/limiter.h"

namespace weir::app {

Result<std::shared_ptr<store::Store>> open_store(std::string_view url, const Options& /*options*/,
                                                 const Clock& clock, base::Entropy& entropy) {
  // Both spellings: a trailing colon must be quoted in YAML.
  if (url == "memory:" || url == "memory")
    return std::shared_ptr<store::Store>(std::make_shared<memory::MemoryStore>(clock, entropy));
  return base::invalid("store ", base::quoted(url), " is not known; use memory:");
}

}  // namespace weir::app

namespace weir {

Result<Limiter> Limiter::open(std::string_view url, const Options& options) {
  if (auto checked = limits::check_namespace(options.name_space); !checked) return checked.error();
  if (options.principal.empty() || options.principal.size() > 128 || !base::is_utf8(options.principal)) {
    return base::invalid("principal must be 1 to 128 bytes of UTF-8");
  }
  if (options.lease_deadline.count() < 1) return base::invalid("lease_deadline must be at least 1 ms");
  if (options.keep_audit_for && options.keep_audit_for->count() < 1)
    return base::invalid("keep_audit_for must be at least 1 ms");
  limiter::Foundation foundation;
  if (options.clock != nullptr) {
    foundation.clock = std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), options.clock);
  } else {
    foundation.clock = std::make_shared<SystemClock>();
  }
  foundation.entropy = std::make_shared<base::SystemEntropy>();
  auto store = app::open_store(url, options, *foundation.clock, *foundation.entropy);
  if (!store) return store.error();
  if (options.keep_audit_for) {
    if (auto kept = (*store)->keep_audit_for(options.keep_audit_for->count()); !kept) return kept.error();
  }
  foundation.store = *std::move(store);
  return Limiter(std::make_unique<limiter::Core>(std::move(foundation), options));
}

}  // namespace weir
