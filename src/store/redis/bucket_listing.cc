// The buckets on a resource. Redis has no index of them, which every new bucket would pay for: their keys are
// found by SCAN.
#include <algorithm>

#include "base/text.h"
#include "store/bucket_of.h"
#include "store/redis/bucket_keys.h"
#include "store/redis/buckets.h"
#include "store/redis/key_scan.h"
#include "store/remote/catalog.h"

namespace weir::redis {
namespace {

/// Buckets that are read at once.
constexpr std::size_t buckets_at_once = 500;

using Families = std::map<std::string, std::string>;

/// Reads the buckets of one page, each by its own call: they lie in different slots.
class PageReader {
 public:
  PageReader(Context& context, std::string_view name_space) : context_(context), name_space_(name_space) {}

  Result<void> read(const Families& families, std::vector<Bucket>& into) {
    for (auto at = families.begin(); at != families.end();) {
      std::vector<Families::const_iterator> part;
      for (; at != families.end() && part.size() < buckets_at_once; ++at) part.push_back(at);
      if (auto read = read_part(part, into); !read) return read;
    }
    return {};
  }

 private:
  Result<void> read_part(const std::vector<Families::const_iterator>& part, std::vector<Bucket>& into) {
    std::vector<BlockingCalls::Arguments> calls;
    for (const auto& one : part) {
      const auto [entity, resource] = store::names_of(one->first);
      calls.push_back({{context_.names.bucket(name_space_, one->second, entity, resource)},
                       {std::to_string(context_.time.for_scripts()), "0"}});
    }
    auto replies = BlockingCalls(context_).run_all(Script::load(), calls, false);
    if (!replies) return replies.error();
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto [entity, resource] = store::names_of(part[i]->first);
      add(entity, resource, (*replies)[i].get(), into);
    }
    return {};
  }

  void add(std::string_view entity, std::string_view resource, const Reply& list, std::vector<Bucket>& into) {
    auto at = list.children();
    at.next();
    const Time now = at.next().integer().value_or(0);
    const auto read = read_bucket(at.next(), entity, resource);
    if (!read) return context_.bad.report(read.error().message);
    if (read->bucket && read->bucket->state.expires_at > now)
      into.push_back(store::bucket_of(entity, resource, read->bucket->state));
  }

  Context& context_;
  const std::string_view name_space_;
};

}  // namespace

void RedisBuckets::list_on(std::string_view name_space, std::string_view resource,
                           const store::Paging& paging, store::Completion<store::Page<Bucket>> done) {
  const BucketKeys keys(context_.names, name_space);
  store::FirstPlaces<std::string> families(paging);
  auto scanned = scan_keys(context_, keys.pattern(resource), [&](std::string_view key) {
    const auto name = keys.read(key);
    if (!name || (!resource.empty() && name->resource != resource)) return;
    families.offer(store::place_of(name->entity, name->resource), [&] { return std::string(name->family); });
  });
  if (!scanned) return done(scanned.error());
  store::Page<Bucket> page{.items = {}, .next = families.cut()};
  if (auto read = PageReader(context_, name_space).read(families.places(), page.items); !read)
    return done(read.error());
  done(std::move(page));
}

}  // namespace weir::redis
