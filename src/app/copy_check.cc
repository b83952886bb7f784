#include "app/copy_check.h"

#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "wire/sigv4.h"

namespace weir::app {
namespace {

using base::join;

/// The most records that a difference names.
constexpr std::size_t most_named = 5;

/// Records of one kind in one namespace.
using Group = std::pair<std::string, std::size_t>;

/// The number of records of a group, and a sum that does not depend on their order.
struct Summary {
  std::uint64_t count = 0;
  Fingerprint sum;
  friend bool operator==(const Summary&, const Summary&) = default;
};
using Summaries = std::map<Group, Summary>;

/// The records of the groups that differ: description and content.
using Contents = std::map<std::string, std::pair<std::string, Fingerprint>>;

/// Reads a store, each record once. A lease is identified by its number alone: a store that does not know its
/// namespace returns it in every one.
class Side {
 public:
  /// `fit`: the records are changed to what the target keeps; null: they are the target's own.
  Side(store::CopyReader& reader, const store::CopyWriter* fit) : reader_(reader), fit_(fit) {}

  Result<void> for_each(const store::CopyScope& scope, const std::function<void(std::size_t)>& read,
                        const std::function<void(const Group&, const store::CopyRecord&)>& visit) {
    std::set<decision::Nonce> leases;
    return reader_.read(scope, [&](std::vector<store::CopyRecord> page) -> Result<void> {
      for (store::CopyRecord& record : page) {
        if (fit_ != nullptr && !fit_->fit(record)) continue;
        Group group{record.name_space, record.kind()};
        if (const auto* const lease = std::get_if<store::CopiedLease>(&record.content)) {
          if (!leases.insert(lease->nonce).second) continue;
          group.first.clear();
          record.name_space.clear();
        }
        visit(group, record);
      }
      read(page.size());
      return {};
    });
  }

 private:
  store::CopyReader& reader_;
  const store::CopyWriter* const fit_;
};

Result<Summaries> summarize(Side side, const store::CopyScope& scope,
                            const std::function<void(std::size_t)>& read) {
  Summaries summaries;
  auto done = side.for_each(scope, read, [&](const Group& group, const store::CopyRecord& record) {
    Summary& summary = summaries[group];
    const Fingerprint one = fingerprint_of(join(key_of(record), "\n", content_of(record)));
    ++summary.count;
    summary.sum = {summary.sum.high + one.high, summary.sum.low + one.low};
  });
  if (!done) return done.error();
  return summaries;
}

Result<Contents> contents_of(Side side, const store::CopyScope& scope, const Group& of,
                             const std::function<void(std::size_t)>& read) {
  Contents contents;
  auto done = side.for_each(scope, read, [&](const Group& group, const store::CopyRecord& record) {
    if (group == of)
      contents.emplace(key_of(record), std::pair(described(record), fingerprint_of(content_of(record))));
  });
  if (!done) return done.error();
  return contents;
}

/// "; such as the bucket of "key-1" on "gpt-4" in namespace "default", which differs".
std::string examples_of(const Contents& source, const Contents& target) {
  std::string text;
  std::size_t named = 0;
  const auto name = [&](const std::string& record, std::string_view how) {
    if (++named <= most_named) text += join(text.empty() ? "" : "; ", record, " ", how);
  };
  for (const auto& [key, of_source] : source) {
    const auto found = target.find(key);
    if (found == target.end()) {
      name(of_source.first, "is only in the source");
    } else if (found->second.second != of_source.second) {
      name(of_source.first, "differs");
    }
  }
  for (const auto& [key, of_target] : target) {
    if (!source.contains(key)) name(of_target.first, "is only in the target");
  }
  if (named > most_named) text += join("; and ", std::to_string(named - most_named), " more");
  return text;
}

std::string headline(const Group& group, std::uint64_t source, std::uint64_t target) {
  const std::string of = group.first.empty() ? "" : join(" of namespace ", base::quoted(group.first));
  return join(store::copied_kinds[group.second], of, ": ", std::to_string(source), " in the source, ",
              std::to_string(target), " in the target: ");
}

}  // namespace

Fingerprint fingerprint_of(std::string_view text) {
  const std::string digits = wire::aws::sha256_hex(text);
  Fingerprint print;
  constexpr std::size_t half = 16;
  std::from_chars(digits.data(), digits.data() + half, print.high, half);
  std::from_chars(digits.data() + half, digits.data() + 2 * half, print.low, half);
  return print;
}

Result<std::vector<std::string>> compare(store::CopyReader& source, store::CopyWriter& target,
                                         const store::CopyScope& scope,
                                         const std::function<void(std::size_t)>& read) {
  const auto of_source = summarize({source, &target}, scope, read);
  if (!of_source) return of_source.error();
  const auto of_target = summarize({target, nullptr}, scope, read);
  if (!of_target) return of_target.error();
  std::set<Group> groups;
  for (const auto& [group, summary] : *of_source) groups.insert(group);
  for (const auto& [group, summary] : *of_target) groups.insert(group);
  std::vector<std::string> differences;
  for (const Group& group : groups) {
    const auto summary_in = [&](const Summaries& all) {
      const auto found = all.find(group);
      return found == all.end() ? Summary() : found->second;
    };
    const Summary before = summary_in(*of_source);
    const Summary after = summary_in(*of_target);
    if (before == after) continue;
    const auto left = contents_of({source, &target}, scope, group, read);
    if (!left) return left.error();
    const auto right = contents_of({target, nullptr}, scope, group, read);
    if (!right) return right.error();
    differences.push_back(headline(group, before.count, after.count) + examples_of(*left, *right));
  }
  return differences;
}

}  // namespace weir::app
