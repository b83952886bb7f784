#include "service/plain_acquire.h"

#include <algorithm>

namespace weir::service {
namespace {

/// A position in the text. Each member consumes one element and returns whether it was there.
class Reader {
 public:
  explicit Reader(std::string_view json) : at_(json.data()), end_(json.data() + json.size()) {}

  bool take(char expected) {
    skip_blanks();
    if (at_ == end_ || *at_ != expected) return false;
    ++at_;
    return true;
  }
  bool take_text(std::string_view& text) {
    if (!take('"')) return false;
    const char* const begin = at_;
    while (at_ != end_ && *at_ >= ' ' && *at_ != '"' && *at_ != '\\' && *at_ < 0x7f) ++at_;
    text = {begin, static_cast<std::size_t>(at_ - begin)};
    return at_ != end_ && *at_++ == '"';
  }
  bool take_amount(Amount& amount) {
    // Any number of this many digits fits.
    constexpr std::ptrdiff_t most_digits = 12;
    skip_blanks();
    const char* const begin = at_;
    std::int64_t tokens = 0;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      if (at_ - begin == most_digits) return false;
      tokens = tokens * 10 + (*at_ - '0');
    }
    amount = Amount::milli(tokens * 1000);
    return at_ != begin && (*begin != '0' || at_ - begin == 1);
  }
  bool at_end() {
    skip_blanks();
    return at_ == end_;
  }

 private:
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  const char* at_;
  const char* const end_;
};

bool read_consume(Reader& reader, Amounts& amounts) {
  // More limits are left to the full parser, which finds duplicates faster.
  constexpr std::size_t most_limits = 8;
  auto& by_limit = amounts.by_limit;
  by_limit.reserve(4);
  if (!reader.take('{')) return false;
  do {
    std::string_view limit;
    Amount amount;
    if (!reader.take_text(limit) || !reader.take(':') || !reader.take_amount(amount)) return false;
    const bool known = std::any_of(by_limit.begin(), by_limit.end(),
                                   [&](const auto& other) { return other.first == limit; });
    if (known || by_limit.size() == most_limits) return false;
    by_limit.emplace_back(limit, amount);
  } while (reader.take(','));
  return reader.take('}');
}

}  // namespace

bool read_plain_acquire(std::string_view json, AcquireBody& body) {
  Reader reader(json);
  bool entity = false;
  bool resource = false;
  bool consume = false;
  // Duplicate and unknown members are left to the full parser, which reports the mistake.
  const auto first = [](bool& seen) { return !std::exchange(seen, true); };
  const auto text = [&](std::string& into) {
    std::string_view value;
    if (!reader.take_text(value)) return false;
    into = value;
    return true;
  };
  if (!reader.take('{')) return false;
  do {
    std::string_view key;
    if (!reader.take_text(key) || !reader.take(':')) return false;
    const bool read = key == "entity"     ? first(entity) && text(body.entity)
                      : key == "resource" ? first(resource) && text(body.resource)
                      : key == "consume"  ? first(consume) && read_consume(reader, body.consume)
                                          : false;
    if (!read) return false;
  } while (reader.take(','));
  return reader.take('}') && reader.at_end();
}

}  // namespace weir::service
