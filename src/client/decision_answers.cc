// Answers to acquire, available and changes of leases.
#include <algorithm>
#include <optional>

#include "client/answers.h"
#include "client/reading.h"
#include "limiter/lease_id.h"
#include "limits/names.h"
#include "limits/record.h"

namespace weir::client {
namespace {

using base::join;

/// One limit of one bucket: L in the contract.
struct ReadLine {
  std::string entity, resource, name;
  LimitReport::Line line{};
  Source source = Source::system;
  Owner owner = Owner::operator_;
  bool remaining_at_most = false;
  Mode mode = Mode::enforce;
  Kind kind = Kind::rate;
  bool would_refuse = false;
  std::int64_t version = 0;

  bool of_same_bucket(const ReadLine& other) const { return entity == other.entity; }
};

ReadLine read_line(Answer& answer, json::Value& element) {
  ReadLine read;
  bool exceeded = false;
  std::optional<std::int64_t> wait = 0;
  answer.members(element, "limits", [&](std::string_view key, json::Value& value) {
    if (key == "entity") read.entity = answer.text(value, key);
    if (key == "resource") read.resource = answer.text(value, key);
    if (key == "name") read.name = answer.text(value, key);
    if (key == "capacity") read.line.capacity = answer.amount(value, key).millitokens();
    if (key == "burst") read.line.burst = answer.amount(value, key).millitokens();
    if (key == "requested") read.line.requested = answer.amount(value, key).millitokens();
    if (key == "remaining") read.line.remaining = answer.amount(value, key).millitokens();
    if (key == "remaining_at_most") read.remaining_at_most = answer.flag(value, key);
    if (key == "exceeded") exceeded = answer.flag(value, key);
    if (key == "retry_after_ms") wait = read_wait(answer, value, key);
    if (key == "source") read.source = answer.source(value, key);
    if (key == "owner") read.owner = answer.owner(value, key);
    if (key == "mode") read.mode = answer.mode(value, key);
    if (key == "kind") read.kind = answer.kind(value, key);
    if (key == "would_refuse") read.would_refuse = answer.flag(value, key);
    if (key == "version") read.version = answer.integer(value, key);
  });
  if (exceeded) read.line.wait = wait.value_or(LimitReport::never_fits);
  for (const auto& checked : {limits::check_entity(read.entity), limits::check_resource(read.resource),
                              limits::check_limit_name(read.name)}) {
    if (!checked) answer.malform(checked.error().message);
  }
  return read;
}

/// Adds the lines of one bucket, which are adjacent.
void add_bucket(LimitReport& report, std::span<ReadLine> lines) {
  std::string names;
  for (ReadLine& read : lines) {
    read.line.name = {static_cast<std::uint16_t>(names.size()), static_cast<std::uint8_t>(read.name.size()),
                      LimitReport::Name::marks_of(read.source, read.mode, read.kind)};
    names += read.name;
  }
  const ReadLine& first = lines.front();
  LimitReport::Bucket bucket{};
  bucket.entity_size = static_cast<std::uint16_t>(first.entity.size());
  bucket.source = first.source;
  bucket.owner = first.owner;
  bucket.version = first.version;
  bucket.remaining_is_upper_bound = first.remaining_at_most;
  LimitReport::Line* to = report.add_bucket(join(first.entity, first.resource), bucket, names, lines.size());
  for (const ReadLine& read : lines) *to++ = read.line;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].would_refuse) report.mark_would_refuse(i, lines[i].line.requested);
  }
}

}  // namespace

std::optional<std::int64_t> read_wait(Answer& answer, json::Value& value, std::string_view of) {
  if (answer.is_null(value)) return std::nullopt;
  return answer.count(value, of);
}

/// A report holds no more limits than a chain can have, so the number is checked.
LimitReport read_limits(Answer& answer, json::Value& value, std::string_view of) {
  constexpr std::size_t most = limits::max_chain * limits::max_limits;
  std::vector<ReadLine> lines;
  answer.elements(value, of, most,
                  [&](json::Value& element) { lines.push_back(read_line(answer, element)); });
  LimitReport report;
  std::size_t buckets = 0;
  for (std::size_t at = 0, end = 0; at < lines.size() && !answer.failed(); at = end) {
    while (end < lines.size() && lines[end].of_same_bucket(lines[at])) ++end;
    if (++buckets > limits::max_chain) answer.malform("it has more entities than a chain can have");
    if (lines[at].resource != lines.front().resource) answer.malform("it is about more than one resource");
    if (!answer.failed()) add_bucket(report, std::span(lines).subspan(at, end - at));
  }
  return report;
}

namespace {

void decide(Answer& answer, Decision& decision, std::optional<bool> allowed, std::optional<std::int64_t> wait,
            std::optional<bool> never_fits) {
  if (!allowed) answer.malform("\"allowed\" is missing");
  if (allowed.value_or(false)) {
    decision.set_admitted();
  } else {
    const LimitReport& report = decision.report();
    const bool never = std::any_of(report.begin(), report.end(), [](const LimitStatus& line) {
      return line.exceeded && !line.retry_after;
    });
    decision.set_refused(wait, never_fits.value_or(never));
  }
}

}  // namespace

Result<Acquired> read_acquired(std::string_view json) {
  Answer answer(json);
  Acquired acquired;
  std::optional<bool> allowed;
  std::optional<std::int64_t> wait = 0;
  std::optional<bool> never_fits;
  bool from_memory = false;
  bool blocked = false;
  Block block;
  std::int64_t waited = 0;
  answer.members([&](std::string_view key, json::Value& value) {
    if (key == "blocked") blocked = answer.flag(value, key);
    if (key == "blocked_resource") block.resource = answer.text(value, key);
    if (key == "blocked_entity") block.entity = answer.text(value, key);
    if (key == "until_ms") block.until = answer.integer(value, key);
    if (key == "reason") block.reason = answer.text(value, key);
    if (key == "allowed") allowed = answer.flag(value, key);
    if (key == "from_memory") from_memory = answer.flag(value, key);
    if (key == "degraded") acquired.degraded = answer.flag(value, key);
    if (key == "lease" && !answer.is_null(value)) acquired.lease = answer.text(value, key);
    if (key == "retry_after_ms") wait = read_wait(answer, value, key);
    if (key == "never_fits") never_fits = answer.flag(value, key);
    if (key == "waited_ms") waited = answer.count(value, key);
    if (key == "decision") acquired.id = answer.text(value, key);
    if (key == "limits") acquired.decision.report() = read_limits(answer, value, key);
  });
  decide(answer, acquired.decision, allowed, wait, never_fits);
  if (from_memory) acquired.decision.set_from_memory();
  // The wait is counted from the moment of the answer, as that of any refusal.
  if (blocked) {
    const Time until = std::clamp<Time>(block.until.value_or(0), 0, limits::latest_stamp);
    const Time answered = until - std::clamp<Time>(wait.value_or(0), 0, limits::latest_stamp);
    if (block.until) block.until = until;
    acquired.decision.set_blocked(std::move(block), answered);
  }
  acquired.decision.set_waited(std::chrono::milliseconds(waited));
  acquired.deadline = limiter::deadline_of(acquired.lease).value_or(0);
  return answer.finish(std::move(acquired));
}

Result<Decision> read_available(std::string_view json) {
  auto acquired = read_acquired(json);
  if (!acquired) return acquired.error();
  return std::move(acquired->decision);
}

Result<LimitReport> read_report(std::string_view json) {
  Answer answer(json);
  std::optional<LimitReport> report;
  answer.members([&](std::string_view key, json::Value& value) {
    if (key == "limits") report = read_limits(answer, value, key);
  });
  if (!report) answer.malform("\"limits\" is missing");
  return answer.finish(report.value_or(LimitReport()));
}

Result<Time> read_extended(std::string_view json) {
  Answer answer(json);
  std::optional<Time> deadline;
  answer.members([&](std::string_view key, json::Value& value) {
    if (key == "deadline_ms") deadline = answer.count(value, key);
  });
  if (!deadline) answer.malform("\"deadline_ms\" is missing");
  return answer.finish(deadline.value_or(0));
}

Result<Problem> read_problem(std::string_view json) {
  Answer answer(json);
  Problem problem;
  answer.members([&](std::string_view key, json::Value& value) {
    if (key == "type") problem.type = answer.text(value, key);
    if (key == "detail") problem.detail = answer.text(value, key);
  });
  return answer.finish(std::move(problem));
}

}  // namespace weir::client
