#include "api/decision_json.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "base/text_writer.h"

namespace weir::api {
namespace {

using base::JsonWriter;
using base::TextWriter;

std::string wait_json(const std::optional<std::chrono::milliseconds>& wait) {
  return wait ? std::to_string(wait->count()) : "null";
}

/// The most bytes that write_status() writes.
std::size_t room_for(const LimitStatus& status) {
  constexpr std::size_t fixed = 262;
  return fixed + 6 * TextWriter::number_room + TextWriter::size_of_json(status.entity) +
         TextWriter::size_of_json(status.resource) + TextWriter::size_of_json(status.name);
}

void write_status(TextWriter& writer, const LimitStatus& status, Versions versions) {
  writer.put(R"({"entity":)");
  writer.json(status.entity);
  writer.put(R"(,"resource":)");
  writer.json(status.resource);
  writer.put(R"(,"name":)");
  writer.json(status.name);
  writer.put(R"(,"capacity":)");
  const char* const capacity = writer.at();
  writer.amount(status.capacity);
  const std::string_view same(capacity, static_cast<std::size_t>(writer.at() - capacity));
  writer.put(R"(,"burst":)");
  if (status.burst == status.capacity) {
    writer.text(same);
  } else {
    writer.amount(status.burst);
  }
  writer.put(R"(,"requested":)");
  writer.amount(status.requested);
  writer.put(R"(,"remaining":)");
  writer.amount(status.remaining);
  if (status.remaining_at_most) writer.put(R"(,"remaining_at_most":true)");
  if (status.exceeded) {
    writer.put(R"(,"exceeded":true,"retry_after_ms":)");
  } else {
    writer.put(R"(,"exceeded":false,"retry_after_ms":)");
  }
  if (status.retry_after) {
    writer.number(status.retry_after->count());
  } else {
    writer.put("null");
  }
  writer.put(R"(,"source":)");
  writer.json(name_of(status.source));
  if (status.owner == Owner::sync) writer.put(R"(,"owner":"sync")");
  if (status.mode != Mode::enforce) [[unlikely]] {
    writer.put(R"(,"mode":)");
    writer.json(to_text(status.mode));
  }
  if (status.kind != Kind::rate) [[unlikely]]
    writer.put(R"(,"kind":"concurrent")");
  if (status.would_refuse) [[unlikely]]
    writer.put(R"(,"would_refuse":true)");
  if (versions == Versions::shown) {
    writer.put(R"(,"version":)");
    writer.number(status.version);
  }
  writer.put("}");
}

void append_limits(std::string& out, const LimitReport& report, Versions versions = Versions::hidden) {
  char separator = '[';
  for (const LimitStatus status : report) {
    out += separator;
    separator = ',';
    base::append_written(out, room_for(status),
                         [&](TextWriter& writer) { write_status(writer, status, versions); });
  }
  out += report.empty() ? "[]" : "]";
}

}  // namespace

std::string limits_json(const LimitReport& report, Versions versions) {
  std::string json;
  append_limits(json, report, versions);
  return json;
}

std::string extended_json(Time deadline) {
  return JsonWriter::object().number("deadline_ms", deadline).str();
}

std::string to_json(const LimitReport& report) {
  return JsonWriter::object().raw("limits", limits_json(report)).str();
}

std::string admitted_json(const LimitReport& report, std::string_view lease_id, Time deadline,
                          Waited waited) {
  std::string json;
  append_admitted(json, report, lease_id, deadline, waited);
  return json;
}

void append_admitted(std::string& out, const LimitReport& report, std::string_view lease_id, Time deadline,
                     Waited waited) {
  out += R"({"allowed":true,"lease":")";
  // Consists of letters, digits, - and _, so it needs no escapes.
  out += lease_id;
  out += '"';
  if (deadline != 0) out += base::join(R"(,"deadline_ms":)", std::to_string(deadline));
  if (waited) out += base::join(R"(,"waited_ms":)", std::to_string(waited->count()));
  out += R"(,"limits":)";
  append_limits(out, report);
  out += '}';
}

void find_exceeded(std::vector<std::string_view>& names, const LimitReport& report) {
  names.clear();
  for (std::size_t i = 0; i < report.size(); ++i) {
    if (!report.line(i).exceeded()) continue;
    const std::string_view name = report.name_of(i);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
}

std::string degraded_json() { return R"({"allowed":true,"degraded":true,"lease":null,"limits":[]})"; }

namespace {

void add_block(JsonWriter& json, const Block& block) {
  json.flag("blocked", true);
  if (block.until) json.number("until_ms", *block.until);
  json.text("blocked_entity", block.entity);
  if (!block.resource.empty()) json.text("blocked_resource", block.resource);
  json.text("reason", block.reason);
}

}  // namespace

std::string more_json(const Decision& decision, const Circumstances& circumstances) {
  const Block* const block = decision.block();
  const bool gave_up = decision.refused() && !circumstances.gave_up.empty();
  const bool waited = decision.waited().count() != 0 || gave_up;
  if (block == nullptr && !circumstances.exempt && !waited) return {};
  auto json = JsonWriter::object();
  if (block != nullptr) add_block(json, *block);
  if (circumstances.exempt) json.flag("exempt", true);
  if (waited) json.number("waited_ms", decision.waited().count());
  if (gave_up) json.text("gave_up", circumstances.gave_up);
  return json.str();
}

std::string refused_json(const Decision& refused, std::string_view decision, Waited waited) {
  auto violated = JsonWriter::array();
  std::vector<std::string_view> names;
  find_exceeded(names, refused.limits());
  for (const std::string_view name : names) violated.add(base::json_string(name));
  auto json = JsonWriter::object();
  json.text("type", "https://iana.org/assignments/http-problem-types#quota-exceeded");
  json.text("title", "Request cannot be satisfied as assigned quota has been exceeded");
  json.number("status", 429).text("detail", refusal_text(refused));
  json.flag("allowed", false).raw("retry_after_ms", wait_json(refused.retry_after()));
  json.flag("never_fits", refused.never_fits()).raw("violated-policies", violated.str());
  if (waited) json.number("waited_ms", waited->count());
  if (refused.from_memory()) json.flag("from_memory", true);
  if (const Block* const block = refused.block()) add_block(json, *block);
  if (!decision.empty()) json.text("decision", decision);
  json.raw("limits", limits_json(refused.limits()));
  return json.str();
}

std::string available_json(const Decision& decision) {
  auto json = JsonWriter::object();
  json.flag("allowed", decision.admitted()).raw("retry_after_ms", wait_json(decision.retry_after()));
  if (const Block* const block = decision.block()) add_block(json, *block);
  json.raw("limits", limits_json(decision.limits()));
  return json.str();
}

bool is_blocked(const Decision& refused) {
  const auto blocks = [](const LimitStatus& status) {
    return status.exceeded && status.capacity == Amount();
  };
  const auto& limits = refused.limits();
  return refused.never_fits() && std::any_of(limits.begin(), limits.end(), blocks);
}

std::string refusal_text(const Decision& refused) {
  if (const Block* const block = refused.block()) {
    const std::string until = block->until ? " until " + base::rfc3339_text(*block->until) : std::string();
    return base::join(block->entity, " is blocked", until, ": ", block->reason);
  }
  std::string who;
  for (const LimitStatus& status : refused.limits()) {
    if (!status.exceeded) continue;
    who += base::join(who.empty() ? "over the limit " : ", ", status.name, " of ", status.entity);
  }
  // Every limit holds enough, but a request that came earlier waits for more.
  if (who.empty()) who = "other requests wait for this bucket";
  if (is_blocked(refused)) return base::join(who, "; a limit of 0 admits nothing");
  if (refused.never_fits()) return base::join(who, "; more than the bucket can ever hold, ask for less");
  if (!refused.retry_after())
    return base::join(who,
                      "; a bucket may expire before it holds this much, ask for no more than its capacity");
  return base::join(who, "; retry in ", std::to_string(refused.retry_after()->count()), " ms");
}

}  // namespace weir::api
