// The text of a marker: of a lease that was changed, or of an acquire that happens once.
#include <string>
#include <utility>

#include "base/maxima.h"
#include "bucket/state.h"
#include "limits/names.h"
#include "store/redis/codec.h"

namespace weir::redis {
namespace {

constexpr std::int64_t first_marker_format = 1;
constexpr std::int64_t marker_format = 2;
/// The factor of the buckets in which a limit is concurrent, beside the mask of its buckets.
constexpr std::int64_t one_holds_bit = 256;

/// Of each use of a grant: which amount, which bucket, the end of the grant, millitokens.
void append_granted(Words& words, const std::vector<decision::LeaseAmount>& amounts) {
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    for (const detail::GrantUse& use : amounts[i].granted)
      words.number(static_cast<std::int64_t>(i)).number(use.bucket).number(use.end).number(use.amount);
  }
}

bool read_granted(WordReader& reader, std::vector<decision::LeaseAmount>& amounts) {
  while (!reader.failed() && !reader.at_end()) {
    const auto amount = static_cast<std::size_t>(reader.number());
    detail::GrantUse use;
    const std::int64_t bucket = reader.number();
    use.end = reader.number();
    use.amount = reader.number();
    const bool known = amount < amounts.size() && in_range(bucket, limits::max_chain - 1) &&
                       amounts[amount].granted.size() < maxima::grant_uses;
    if (reader.failed() || !known) return false;
    use.bucket = static_cast<std::uint8_t>(bucket);
    amounts[amount].granted.push_back(use);
  }
  return !reader.failed();
}

}  // namespace

std::string encode(const decision::Marker& marker) {
  Words words;
  words.number(marker_format).number(static_cast<int>(marker.record.ending)).number(marker.deadline);
  words.number(static_cast<std::int64_t>(marker.buckets.size()));
  std::vector<std::string_view> entities;
  for (const decision::LeaseBucket& bucket : marker.buckets) {
    words.number(static_cast<std::int64_t>(bucket.generation));
    entities.push_back(bucket.entity);
  }
  std::string text = words.str() + encode_behind_generations(marker.record, entities);
  Words granted;
  append_granted(granted, marker.record.amounts);
  if (marker.first_deadline != 0 || !granted.str().empty())
    text += ' ' + std::to_string(marker.first_deadline);
  if (!granted.str().empty()) text += ' ' + granted.str();
  return text;
}

std::string encode_behind_generations(const decision::LeaseRecord& record,
                                      const std::vector<std::string_view>& entities) {
  Words words;
  for (const std::string_view entity : entities) words.name(entity);
  words.number(static_cast<std::int64_t>(record.amounts.size()));
  // Both masks as one number, so that a limit that is nowhere concurrent has the same text as before.
  for (const decision::LeaseAmount& amount : record.amounts)
    words.name(amount.limit).number(amount.amount).number(amount.buckets + one_holds_bit * amount.holds);
  words.number(static_cast<std::int64_t>(record.keys.size()));
  for (const std::string& key : record.keys) words.text(key);
  return ' ' + words.str();
}

std::optional<decision::Marker> decode_marker(std::string_view text) {
  WordReader reader(text);
  const std::int64_t version = reader.number();
  if (version != first_marker_format && version != marker_format) return std::nullopt;
  decision::Marker marker;
  const std::int64_t ending = reader.number();
  if (ending < 0 || ending > 2) return std::nullopt;
  marker.record.ending = static_cast<decision::Ending>(ending);
  marker.deadline = reader.number();
  const std::int64_t buckets = version == marker_format ? reader.count() : 0;
  if (buckets < 0 || buckets > static_cast<std::int64_t>(limits::max_chain)) return std::nullopt;
  for (std::int64_t i = 0; i < buckets; ++i)
    marker.buckets.push_back({{}, static_cast<std::uint64_t>(reader.number())});
  for (decision::LeaseBucket& bucket : marker.buckets) {
    bucket.entity = reader.name();
    if (!limits::check_entity(bucket.entity)) return std::nullopt;
  }
  for (std::int64_t left = reader.count(); left > 0 && !reader.failed(); --left) {
    decision::LeaseAmount amount;
    amount.limit = reader.name();
    amount.amount = reader.number();
    const std::int64_t bits = reader.number();
    if (!in_range(bits, one_holds_bit * one_holds_bit - 1)) return std::nullopt;
    amount.buckets = static_cast<std::uint8_t>(bits % one_holds_bit);
    amount.holds = static_cast<std::uint8_t>(bits / one_holds_bit);
    marker.record.amounts.push_back(std::move(amount));
  }
  for (std::int64_t left = reader.count(); left > 0 && !reader.failed(); --left)
    marker.record.keys.push_back(reader.text());
  if (!reader.failed() && !reader.at_end()) marker.first_deadline = reader.number();
  if (!reader.failed() && !reader.at_end() && !read_granted(reader, marker.record.amounts))
    return std::nullopt;
  if (!bucket::is_stored_time(marker.first_deadline)) return std::nullopt;
  if (!bucket::is_stored_time(marker.deadline) || !decision::can_be_used(marker.record)) return std::nullopt;
  return reader.done() ? std::optional(std::move(marker)) : std::nullopt;
}

}  // namespace weir::redis
