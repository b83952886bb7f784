#include "limits/spelling.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "weir/amount.h"

namespace weir::limits {
namespace {

constexpr const char* needs_unit = "a number alone is no period, it needs a unit";
constexpr const char* no_months = "weir has no calendar months, a period is a fixed length of time";
constexpr const char* no_years = "weir has no calendar years, a period is a fixed length of time";
constexpr const char* minute_or_month = "for a month write 30d, since weir has no calendar months";
constexpr const char* needs_long_form =
    R"(a period below a second needs the long form, such as {"capacity":10,"refill_period_ms":100})";

constexpr const char* unlimited = "there is no unlimited limit; write a large one, such as 1000000000/s";

/// Words for a period: the unit of the short form, how many of it, and a remark for the user.
struct PeriodWords {
  std::string_view words;  ///< with a space around each
  std::string_view unit;
  int count = 1;
  const char* remark = "";
};

constexpr PeriodWords period_words[] = {
    {" s sec secs second seconds rps qps tps ", "s"},
    {" min mins minute minutes rpm qpm tpm ", "min"},
    {" m ", "min", 1, minute_or_month},
    {" h hr hrs hour hours hourly rph tph ", "h"},
    {" d day days daily rpd tpd ", "d"},
    {" w wk week weeks weekly ", "d", 7},
    {" mo mon month months monthly ", "d", 30, no_months},
    {" y yr year years yearly ", "d", 365, no_years},
};

constexpr std::string_view ignored_words =
    " per every each a an in r req reqs request requests call calls token tokens time times x unit units ";

bool has_word(std::string_view words, std::string_view word) {
  return words.find(base::join(" ", word, " ")) != std::string_view::npos;
}

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return c >= 'a' && c <= 'z'; }

template <class Is>
std::string take_while(std::string_view& text, Is is) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), is);
  const std::string taken(text.begin(), end);
  text.remove_prefix(taken.size());
  return taken;
}

/// "1,000", "1_000", "10k", "1e3" and "1.5m" as a number; empty if it is none.
std::string take_number(std::string_view& text) {
  std::string digits = take_while(text, [](char c) { return digit(c) || c == '.' || c == ',' || c == '_'; });
  std::erase_if(digits, [](char c) { return c == ',' || c == '_'; });
  int zeros = 0;
  const auto is_suffix = [&](char c) {
    return text.starts_with(c) && (text.size() == 1 || !letter(text[1]));
  };
  if (text.size() > 1 && text[0] == 'e' && digit(text[1])) {
    text.remove_prefix(1);
    const std::string exponent = take_while(text, digit);
    if (exponent.size() > 2) return {};
    std::from_chars(exponent.data(), exponent.data() + exponent.size(), zeros);
  } else if (is_suffix('k') || is_suffix('m')) {
    zeros = text[0] == 'k' ? 3 : 6;
    text.remove_prefix(1);
  }
  if (zeros > 12) return {};
  const std::size_t point = std::min(digits.find('.'), digits.size());
  std::string decimals = digits.substr(std::min(point + 1, digits.size()));
  digits.resize(point);
  if (digits.empty() && !decimals.empty()) digits = "0";
  for (; zeros > 0; --zeros) {
    digits += decimals.empty() ? '0' : decimals[0];
    if (!decimals.empty()) decimals.erase(0, 1);
  }
  const auto amount = Amount::parse(decimals.empty() ? digits : base::join(digits, ".", decimals));
  return amount ? amount->to_string() : std::string();
}

bool means_unlimited(std::string_view text) {
  return has_word(" unlimited none inf infinite infinity ", text);
}

/// Reads a limit from left to right: an amount, words, at most one period and a burst.
class SpellingReader {
 public:
  explicit SpellingReader(std::string text) : kept_(std::move(text)), text_(kept_) {}

  std::string advice() {
    skip_space();
    amount_ = take_number(text_);
    if (amount_.empty()) return means_unlimited(text_) ? unlimited : "";
    for (skip_space(); !text_.empty(); skip_space()) {
      if (!take_part()) return {};
    }
    if (below_a_second_) return needs_long_form;
    if (has_slash_ && unit_.empty() && count_.empty()) return {};
    if (!count_.empty() && !unit_.empty()) return {};
    if (!count_.empty()) {
      unit_ = "s";
      remark_ = needs_unit;
    }
    return base::join("write ", amount_, unit_.empty() ? "" : "/", period(), burst_.empty() ? "" : ":",
                      burst_, *remark_ == '\0' ? "" : "; ", remark_);
  }

 private:
  bool take_part() {
    const char next = text_.front();
    if (next == '/') {
      text_.remove_prefix(1);
      return has_slash_ = true;
    }
    if (next == ':') {
      text_.remove_prefix(1);
      skip_space();
      burst_ = take_number(text_);
      return !burst_.empty();
    }
    if (digit(next)) {
      if (!count_.empty()) return false;
      count_ = take_while(text_, digit);
      return true;
    }
    return letter(next) && take_word(take_while(text_, letter));
  }

  bool take_word(const std::string& word) {
    if (has_word(ignored_words, word)) return true;
    if (word == "ms" || word.starts_with("milli")) return below_a_second_ = true;
    const auto* const known =
        std::find_if(std::begin(period_words), std::end(period_words),
                     [&](const PeriodWords& other) { return has_word(other.words, word); });
    if (known == std::end(period_words)) return false;
    if (!unit_.empty()) return unit_ == known->unit;  // "10rpm/min", "100/min:150/min"
    const auto count = count_.empty() ? std::optional<std::int64_t>(1) : base::parse_digits(count_);
    if (!count || *count < 1 || *count > 100'000) return false;
    period_count_ = *count * known->count;
    count_.clear();
    unit_ = known->unit;
    remark_ = known->remark;
    return true;
  }

  std::string period() const {
    if (unit_.empty()) return {};
    if (!count_.empty()) return base::join(count_, unit_);
    return period_count_ == 1 ? std::string(unit_) : base::join(std::to_string(period_count_), unit_);
  }

  void skip_space() {
    take_while(text_, [](char c) { return c == ' ' || c == '\t'; });
  }

  std::string kept_;
  std::string_view text_;
  std::string amount_;
  std::string burst_;
  std::string count_;  ///< a number whose unit has not been read
  std::string_view unit_;
  std::int64_t period_count_ = 1;
  const char* remark_ = "";
  bool has_slash_ = false;
  bool below_a_second_ = false;
};

}  // namespace

std::string spelling_advice(std::string_view text) {
  constexpr std::size_t longest = 64;
  if (text.size() > longest) return {};
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return SpellingReader(std::move(lower)).advice();
}

}  // namespace weir::limits
