// Answers that are entries of the decision log.
#include <algorithm>

#include "client/answers.h"
#include "client/reading.h"
#include "decision_log/reader.h"

namespace weir::client {
namespace {

using decision_log::Entry;

/// The index of one of the names.
template <class Enum, std::size_t Size>
Enum choice(Answer& answer, json::Value& value, std::string_view of,
            const std::array<std::string_view, Size>& names) {
  const std::string name = answer.text(value, of);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) answer.malform(base::join(base::quoted(name), " is no ", of));
  return static_cast<Enum>(found == names.end() ? 0 : found - names.begin());
}

void read_consume(Answer& answer, json::Value& value, std::string_view of, Entry& entry) {
  answer.members(value, of, [&](std::string_view name, json::Value& amount) {
    entry.charges.emplace_back(name, answer.amount(amount, name));
  });
}

/// The members of an entry that a reader needs.
void read_member(Answer& answer, std::string_view key, json::Value& value, Entry& entry) {
  if (key == "id") entry.id = answer.text(value, key);
  if (key == "at_ms") entry.at = answer.count(value, key);
  if (key == "kind")
    entry.kind = choice<decision_log::EntryKind>(answer, value, key, decision_log::kind_names);
  if (key == "outcome")
    entry.outcome = choice<decision_log::EntryOutcome>(answer, value, key, decision_log::outcome_names);
  if (key == "namespace") entry.name_space = answer.text(value, key);
  if (key == "entity") entry.entity = answer.text(value, key);
  if (key == "resource") entry.resource = answer.text(value, key);
  if (key == "request_id") entry.request_id = answer.text(value, key);
  if (key == "consume") read_consume(answer, value, key, entry);
  if (key == "retry_after_ms") entry.wait = read_wait(answer, value, key);
  if (key == "never_fits") entry.never_fits = answer.flag(value, key);
  if (key == "from_memory") entry.from_memory = answer.flag(value, key);
  if (key == "shadow") entry.shadow = answer.flag(value, key);
  if (key == "lease_ms") entry.lease_for = answer.count(value, key);
  if (key == "sent_limits") entry.sent_limits = answer.limits(value, key);
  if (key == "limits") entry.report = read_limits(answer, value, key);
  if (key == "more") entry.more = answer.raw(value, key);
}

/// The number of the entry, which its id ends with.
void check(Answer& answer, Entry& entry) {
  const auto id = decision_log::parse_id(entry.id);
  if (!id && !answer.failed()) answer.malform(id.error().message);
  if (id) entry.number = id->number;
}

}  // namespace

Result<Entry> read_entry(std::string_view json) {
  Answer answer(json);
  Entry entry;
  answer.members([&](std::string_view key, json::Value& value) { read_member(answer, key, value, entry); });
  check(answer, entry);
  return answer.finish(std::move(entry));
}

Result<Page<Entry>> read_entries_page(std::string_view json) {
  return read_page<Entry>(json, "decisions", [](Answer& answer, json::Value& one) {
    Entry entry;
    answer.members(one, "decisions",
                   [&](std::string_view key, json::Value& value) { read_member(answer, key, value, entry); });
    check(answer, entry);
    return entry;
  });
}

}  // namespace weir::client
