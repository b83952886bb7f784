#include "decision_log/row.h"

#include <algorithm>
#include <cstring>

#include "base/maxima.h"
#include "weir/detail/copy.h"

namespace weir::decision_log {
namespace {

enum Flag : unsigned {
  never_fits = 1U,
  from_memory = 2U,
  keyed = 4U,
  shadow = 8U,
  no_debt = 16U,
  every_limit = 32U,
};

std::uint64_t zigzag(std::int64_t number) {
  return static_cast<std::uint64_t>(number) << 1U ^ static_cast<std::uint64_t>(number >> 63U);
}
std::int64_t unzigzag(std::uint64_t number) {
  return static_cast<std::int64_t>(number >> 1U ^ (0 - (number & 1U)));
}

/// The most bytes of a number.
constexpr std::size_t number_room = 10;

/// Writes into a buffer of sufficient size, as base::TextWriter does: every decision may be written.
class Writer {
 public:
  explicit Writer(char* at) : at_(at) {}
  char* at() const { return at_; }
  void byte(unsigned value) { *at_++ = static_cast<char>(value); }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) *at_++ = static_cast<char>(value | 0x80U);
    *at_++ = static_cast<char>(value);
  }
  void signed_number(std::int64_t value) { number(zigzag(value)); }
  /// A number or nothing.
  void maybe(const std::optional<std::int64_t>& value) {
    number(value ? static_cast<std::uint64_t>(*value) + 1 : 0);
  }
  void fixed(std::uint64_t value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void text(std::string_view text) {
    number(text.size());
    detail::copy_short(at_, text.data(), text.size());
    at_ += text.size();
  }

 private:
  char* at_;
};

/// Takes from the front of bytes. After the first mistake everything is zero or empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool failed() const { return failed_; }
  std::string_view rest() const { return bytes_; }

  unsigned byte() {
    if (bytes_.empty()) {
      fail();
      return 0;
    }
    const auto value = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const unsigned next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7fU) << shift;
      if (next < 0x80) return value;
    }
    fail();
    return 0;
  }
  std::int64_t signed_number() { return unzigzag(number()); }
  std::int64_t time() {
    const std::uint64_t value = number();
    if (value > INT64_MAX) fail();
    return failed_ ? 0 : static_cast<std::int64_t>(value);
  }
  std::optional<std::int64_t> maybe() {
    const std::int64_t value = time();
    return value == 0 ? std::nullopt : std::optional(value - 1);
  }
  std::uint64_t fixed() {
    std::uint64_t value = 0;
    const std::string_view bytes = take(sizeof value);
    if (!failed_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view text(std::size_t most) {
    const std::uint64_t size = number();
    if (size > most) fail();
    return failed_ ? std::string_view() : take(static_cast<std::size_t>(size));
  }
  std::size_t count(std::size_t most) {
    const std::uint64_t value = number();
    if (value > most) fail();
    return failed_ ? 0 : static_cast<std::size_t>(value);
  }
  /// One of the values below `end`.
  template <class Enum>
  Enum choice(unsigned end) {
    const unsigned value = byte();
    if (value >= end) fail();
    return static_cast<Enum>(failed_ ? 0 : value);
  }
  void fail() {
    failed_ = true;
    bytes_ = {};
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) fail();
    const std::string_view taken = bytes_.substr(0, failed_ ? 0 : size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view bytes_;
  bool failed_ = false;
};

constexpr std::size_t longest_name = 64;  // of a limit
constexpr unsigned sources = static_cast<unsigned>(Source::request) + 1;
constexpr unsigned modes = static_cast<unsigned>(Mode::off) + 1;
constexpr unsigned limit_kinds = static_cast<unsigned>(Kind::concurrent) + 1;

void write_limit(Writer& writer, const NamedLimit& named) {
  const Limit& limit = named.limit;
  writer.text(named.name);
  writer.number(static_cast<std::uint64_t>(limit.capacity().millitokens()));
  writer.number(static_cast<std::uint64_t>(limit.burst().millitokens()));
  writer.number(static_cast<std::uint64_t>(limit.refill_amount().millitokens()));
  writer.number(static_cast<std::uint64_t>(limit.refill_period().count()));
  writer.byte(static_cast<unsigned>(limit.mode()));
  writer.byte(static_cast<unsigned>(limit.kind()));
}

std::optional<NamedLimit> read_limit(Reader& reader) {
  const std::string name(reader.text(longest_name));
  LimitSpec spec;
  spec.capacity = Amount::milli(reader.time());
  spec.burst = Amount::milli(reader.time());
  spec.refill_amount = Amount::milli(reader.time());
  spec.refill_period = std::chrono::milliseconds(reader.time());
  spec.mode = reader.choice<Mode>(modes);
  spec.kind = reader.choice<Kind>(limit_kinds);
  if (spec.kind == Kind::concurrent) {
    spec.burst.reset();
    spec.refill_amount.reset();
    spec.refill_period = LimitSpec().refill_period;
  }
  auto limit = Limit::make(spec);
  if (!limit) return std::nullopt;
  return NamedLimit{name, *limit};
}

void write_line(Writer& writer, const LimitStatus& status, const LimitReport::Line& line) {
  writer.text(status.name);
  writer.byte(static_cast<unsigned>(status.source));
  writer.byte(static_cast<unsigned>(status.mode));
  writer.byte(static_cast<unsigned>(status.kind));
  writer.byte(status.would_refuse ? 1 : 0);
  writer.number(static_cast<std::uint64_t>(line.capacity));
  writer.number(static_cast<std::uint64_t>(line.burst));
  writer.signed_number(line.requested);
  writer.signed_number(line.remaining);
  writer.signed_number(line.wait);
  writer.number(line.window);
}

void write_report(Writer& writer, const LimitReport& report) {
  writer.number(report.bucket_count());
  for (std::size_t at = 0, bucket = 0; bucket < report.bucket_count(); ++bucket) {
    const LimitReport::Bucket& of = report.bucket(bucket);
    const std::size_t end =
        bucket + 1 < report.bucket_count() ? report.bucket(bucket + 1).first_line : report.size();
    LimitStatus status = at < end ? report[at] : LimitStatus{};
    writer.text(status.entity);
    writer.byte(static_cast<unsigned>(of.source));
    writer.byte(static_cast<unsigned>(of.owner));
    writer.byte(of.remaining_is_upper_bound ? 1 : 0);
    writer.signed_number(of.version);
    writer.number(end - at);
    while (at < end) {
      write_line(writer, status, report.line(at));
      if (++at < end) status = report[at];
    }
  }
}

/// The lines of one bucket.
bool read_bucket(Reader& reader, std::string_view resource, LimitReport& report) {
  const std::string_view entity = reader.text(maxima::entity);
  LimitReport::Bucket bucket{};
  bucket.entity_size = static_cast<std::uint16_t>(entity.size());
  bucket.source = reader.choice<Source>(sources);
  bucket.owner = reader.choice<Owner>(2);
  bucket.remaining_is_upper_bound = reader.choice<unsigned>(2) != 0;
  bucket.version = reader.signed_number();
  const std::size_t count = reader.count(maxima::limits);
  std::array<LimitReport::Line, maxima::limits> lines{};
  std::array<bool, maxima::limits> would_refuse{};
  std::string names;
  for (std::size_t i = 0; i < count && !reader.failed(); ++i) {
    const std::string_view name = reader.text(longest_name);
    const auto source = reader.choice<Source>(sources);
    const auto mode = reader.choice<Mode>(modes);
    const auto kind = reader.choice<Kind>(limit_kinds);
    would_refuse[i] = reader.choice<unsigned>(2) != 0;
    LimitReport::Line& line = lines[i];
    line.name = {static_cast<std::uint16_t>(names.size()), static_cast<std::uint8_t>(name.size()),
                 LimitReport::Name::marks_of(source, mode, kind)};
    names += name;
    line.capacity = reader.time();
    line.burst = reader.time();
    line.requested = reader.signed_number();
    line.remaining = reader.signed_number();
    line.wait = reader.signed_number();
    line.window = static_cast<std::uint32_t>(reader.count(UINT32_MAX));
  }
  if (reader.failed()) return false;
  std::string key(entity);
  key += resource;
  LimitReport::Line* const to = report.add_bucket(key, bucket, names, count);
  std::copy_n(lines.begin(), count, to);
  for (std::size_t i = 0; i < count; ++i) {
    if (would_refuse[i]) report.mark_would_refuse(i, lines[i].requested);
  }
  return true;
}

bool read_report(std::string_view bytes, std::string_view resource, LimitReport& report) {
  Reader reader(bytes);
  const std::size_t buckets = reader.count(maxima::chain);
  for (std::size_t i = 0; i < buckets; ++i) {
    if (!read_bucket(reader, resource, report)) return false;
  }
  return !reader.failed();
}

unsigned flags_of(const Record& record) {
  return (record.never_fits ? never_fits : 0U) | (record.from_memory ? from_memory : 0U) |
         (record.keyed ? keyed : 0U) | (record.shadow ? shadow : 0U) | (record.no_debt ? no_debt : 0U) |
         (record.every ? every_limit : 0U);
}

void read_flags(unsigned flags, Entry& entry) {
  entry.never_fits = (flags & never_fits) != 0;
  entry.from_memory = (flags & from_memory) != 0;
  entry.keyed = (flags & keyed) != 0;
  entry.shadow = (flags & shadow) != 0;
  entry.no_debt = (flags & no_debt) != 0;
}

void write_body(Writer& writer, std::uint64_t number, const Record& record) {
  writer.number(number);
  writer.number(static_cast<std::uint64_t>(record.at));
  writer.byte(static_cast<unsigned>(record.kind));
  writer.byte(static_cast<unsigned>(record.outcome));
  writer.text(record.name_space);
  writer.text(record.entity);
  writer.text(record.resource);
  writer.fixed(record.lease);
  // The head ends here.
  writer.byte(flags_of(record));
  writer.text(record.request_id);
  writer.maybe(record.wait);
  writer.number(static_cast<std::uint64_t>(record.lease_for));
  if (record.every) writer.signed_number(record.every->millitokens());
  writer.number(record.charges.size());
  for (const Charge& charge : record.charges) {
    writer.text(charge.limit);
    writer.signed_number(charge.amount.millitokens());
  }
  writer.number(record.sent_limits.size());
  for (const NamedLimit& limit : record.sent_limits) write_limit(writer, limit);
  writer.text(record.more);
  // The report is last: it has the rest of the row.
  if (record.report != nullptr) {
    write_report(writer, *record.report);
  } else {
    writer.number(0);
  }
}

/// The size in front of a row, which is known after it was written.
constexpr std::size_t prefix = 3;

/// The most bytes that write_body() writes.
std::size_t room_for(const Record& record) {
  // Of each: the numbers, and the sizes of the texts.
  constexpr std::size_t fixed = 16 * number_room;
  constexpr std::size_t of_charge = 2 * number_room;
  constexpr std::size_t of_limit = 6 * number_room;
  constexpr std::size_t of_line = 9 * number_room;
  constexpr std::size_t of_bucket = 5 * number_room;
  std::size_t room = fixed + record.name_space.size() + record.entity.size() + record.resource.size() +
                     record.request_id.size() + record.more.size();
  for (const Charge& charge : record.charges) room += of_charge + charge.limit.size();
  for (const NamedLimit& limit : record.sent_limits) room += of_limit + limit.name.size();
  if (record.report == nullptr) return room;
  return room + record.report->text_size() + of_line * record.report->size() +
         of_bucket * record.report->bucket_count();
}

}  // namespace

void append_row(std::string& out, std::uint64_t number, const Record& record) {
  const std::size_t before = out.size();
  out.resize(before + prefix + room_for(record));
  char* const row = out.data() + before;
  Writer writer(row + prefix);
  write_body(writer, number, record);
  const auto size = static_cast<std::size_t>(writer.at() - row) - prefix;
  // A number may be longer than it needs to be.
  for (std::size_t i = 0; i < prefix; ++i)
    row[i] = static_cast<char>((size >> (7 * i) & 0x7fU) | (i + 1 < prefix ? 0x80U : 0U));
  out.resize(before + prefix + size);
}

std::optional<RowHead> take_row(std::string_view& rows) {
  if (rows.empty()) return std::nullopt;
  Reader all(rows);
  Reader reader(all.text(maxima::decision_row));
  RowHead head;
  head.number = reader.number();
  head.at = reader.time();
  head.kind = reader.choice<EntryKind>(kind_names.size());
  head.outcome = reader.choice<EntryOutcome>(outcome_names.size());
  head.name_space = reader.text(maxima::name_space);
  head.entity = reader.text(maxima::entity);
  head.resource = reader.text(maxima::resource);
  head.lease = reader.fixed();
  if (all.failed() || reader.failed()) return std::nullopt;
  head.rest = reader.rest();
  rows = all.rest();
  return head;
}

std::optional<Entry> read_entry(const RowHead& head, bool with_report) {
  Reader reader(head.rest);
  Entry entry{.number = head.number,
              .at = head.at,
              .kind = head.kind,
              .outcome = head.outcome,
              .name_space = std::string(head.name_space),
              .entity = std::string(head.entity),
              .resource = std::string(head.resource),
              .lease = head.lease};
  const unsigned flags = reader.byte();
  read_flags(flags, entry);
  entry.request_id = reader.text(maxima::request_id);
  entry.wait = reader.maybe();
  entry.lease_for = reader.time();
  if ((flags & every_limit) != 0) entry.every = Amount::milli(reader.signed_number());
  for (std::size_t left = reader.count(maxima::charges); left > 0; --left) {
    const std::string_view name = reader.text(longest_name);
    entry.charges.emplace_back(name, Amount::milli(reader.signed_number()));
  }
  for (std::size_t left = reader.count(maxima::limits); left > 0 && !reader.failed(); --left) {
    auto limit = read_limit(reader);
    if (!limit) return std::nullopt;
    entry.sent_limits.push_back(*std::move(limit));
  }
  entry.more = reader.text(maxima::decision_row);
  if (reader.failed()) return std::nullopt;
  if (with_report && !read_report(reader.rest(), entry.resource, entry.report)) return std::nullopt;
  return entry;
}

std::vector<std::pair<std::string, Amount>> asked_by(const Entry& entry) {
  if (!entry.every) return entry.charges;
  std::vector<std::pair<std::string, Amount>> asked;
  for (const LimitStatus& status : entry.report) {
    const bool known =
        std::any_of(asked.begin(), asked.end(), [&](const auto& one) { return one.first == status.name; });
    if (!known) asked.emplace_back(status.name, status.requested);
  }
  return asked;
}

}  // namespace weir::decision_log
