#include "store/redis/usage_index.h"

#include "base/text.h"
#include "limits/names.h"
#include "store/redis/call.h"
#include "store/redis/words.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

/// The first character after a space: no name has it, nor one below it.
constexpr char past_space = '!';
constexpr std::size_t no_limit = std::size_t{1} << 40U;

}  // namespace

std::optional<UsedBucket> read_member(std::string_view member) {
  WordReader words(member);
  const std::string_view kind = words.name();
  std::string first(words.name());
  std::string second(words.name());
  if (words.failed() || (kind != "e" && kind != "r")) return std::nullopt;
  UsedBucket bucket{std::move(first), std::move(second), {}};
  if (kind == "r") std::swap(bucket.entity, bucket.resource);
  bucket.family = words.at_end() ? bucket.entity : std::string(words.name());
  if (!words.done() || !limits::check_entity(bucket.entity) || !limits::check_resource(bucket.resource) ||
      !limits::check_entity(bucket.family))
    return std::nullopt;
  return bucket;
}

Result<std::vector<std::string>> UsageIndex::range(const std::string& from, const std::string& to,
                                                   std::size_t most) {
  const std::string key = context_.names.used(name_space_);
  auto reply = BlockingCalls(context_).ask(
      key, resp::command({"ZRANGEBYLEX", key, from, to, "LIMIT", "0", std::to_string(most)}));
  if (!reply) return reply.error();
  const auto texts = reply->get().texts();
  return std::vector<std::string>(texts.begin(), texts.end());
}

std::vector<UsedBucket> UsageIndex::read(const std::vector<std::string>& members) {
  std::vector<UsedBucket> buckets;
  for (const std::string& member : members) {
    if (auto bucket = read_member(member)) {
      buckets.push_back(*std::move(bucket));
      continue;
    }
    context_.bad.report(base::join("the member ", base::quoted(member), " of ",
                                   base::quoted(context_.names.used(name_space_)),
                                   " is not one that weir writes; remove it"));
  }
  return buckets;
}

Result<std::vector<UsedBucket>> UsageIndex::of_entity(std::string_view entity, std::string_view resource) {
  const std::string begin = base::join("e ", entity, resource.empty() ? "" : " ", resource);
  // With a resource, its bucket and those of its families.
  const std::string from = base::join("[", begin, resource.empty() ? " " : "");
  auto members = range(from, base::join("(", begin, std::string_view(&past_space, 1)), no_limit);
  if (!members) return members.error();
  return read(*members);
}

Result<UsageIndex::Part> UsageIndex::of_resource(std::string_view resource, std::string& after,
                                                 std::size_t most) {
  const std::string begin = base::join("r ", resource);
  const std::string_view past(&past_space, 1);
  const std::string from =
      after.empty() ? base::join("[", begin, " ") : base::join("(", begin, " ", after, past);
  auto members = range(from, base::join("(", begin, past), most);
  if (!members) return members.error();
  Part part{.buckets = {}, .last = members->size() < most};
  if (members->empty()) return part;
  // The families of the last entity may not all be there.
  WordReader words(members->back());
  words.name();
  words.name();
  after = words.name();
  auto families =
      range(base::join("[", begin, " ", after), base::join("(", begin, " ", after, past), no_limit);
  if (!families) return families.error();
  std::erase_if(*members, [&](const std::string& member) { return member >= families->front(); });
  members->insert(members->end(), families->begin(), families->end());
  part.buckets = read(*members);
  return part;
}

Result<std::size_t> UsageIndex::count(std::string_view resource) {
  const std::string key = context_.names.used(name_space_);
  const std::string begin = base::join("r ", resource);
  auto reply = BlockingCalls(context_).ask(
      key, resp::command({"ZLEXCOUNT", key, base::join("[", begin, " "),
                          base::join("(", begin, std::string_view(&past_space, 1))}));
  if (!reply) return reply.error();
  return static_cast<std::size_t>(reply->get().integer().value_or(0));
}

Result<UsageIndex::Part> UsageIndex::next(std::string& after, std::size_t most) {
  auto members = range(after.empty() ? "[e " : "(" + after, std::string("(e") + past_space, most);
  if (!members) return members.error();
  if (!members->empty()) after = members->back();
  return Part{.buckets = read(*members), .last = members->size() < most};
}

}  // namespace weir::redis
