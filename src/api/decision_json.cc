#include "api/decision_json.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "base/json.h"
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
  constexpr std::size_t fixed = 250;
  return fixed + 5 * TextWriter::number_room + TextWriter::size_of_json(status.entity) +
         TextWriter::size_of_json(status.resource) + TextWriter::size_of_json(status.name);
}

void write_status(TextWriter& writer, const LimitStatus& status) {
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
  writer.put("}");
}

void append_limits(std::string& out, const LimitReport& report) {
  char separator = '[';
  for (const LimitStatus status : report) {
    out += separator;
    separator = ',';
    base::append_written(out, room_for(status), [&](TextWriter& writer) { write_status(writer, status); });
  }
  out += report.empty() ? "[]" : "]";
}

std::string limits_json(const LimitReport& report) {
  std::string json;
  append_limits(json, report);
  return json;
}

}  // namespace

std::string extended_json(Time deadline) {
  return JsonWriter::object().number("deadline_ms", deadline).str();
}

std::string to_json(const LimitReport& report) {
  return JsonWriter::object().raw("limits", limits_json(report)).str();
}

std::string admitted_json(const LimitReport& report, std::string_view lease_id, Time deadline) {
  std::string json;
  append_admitted(json, report, lease_id, deadline);
  return json;
}

void append_admitted(std::string& out, const LimitReport& report, std::string_view lease_id, Time deadline) {
  out += R"({"allowed":true,"lease":")";
  // Consists of letters, digits, - and _, so it needs no escapes.
  out += lease_id;
  out += '"';
  if (deadline != 0) out += base::join(R"(,"deadline_ms":)", std::to_string(deadline));
  out += R"(,"limits":)";
  append_limits(out, report);
  out += '}';
}

void find_exceeded(std::vector<std::string_view>& names, const LimitReport& report) {
  names.clear();
  for (const LimitStatus& status : report) {
    if (status.exceeded && std::find(names.begin(), names.end(), status.name) == names.end())
      names.push_back(status.name);
  }
}

std::string degraded_json() { return R"({"allowed":true,"degraded":true,"lease":null,"limits":[]})"; }

std::string refused_json(const Decision& refused) {
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
  if (refused.from_memory()) json.flag("from_memory", true);
  json.raw("limits", limits_json(refused.limits()));
  return json.str();
}

std::string available_json(const Decision& decision) {
  auto json = JsonWriter::object();
  json.flag("allowed", decision.admitted()).raw("retry_after_ms", wait_json(decision.retry_after()));
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
  std::string who;
  for (const LimitStatus& status : refused.limits()) {
    if (!status.exceeded) continue;
    who += base::join(who.empty() ? "over the limit " : ", ", status.name, " of ", status.entity);
  }
  if (who.empty()) who = "refused";
  if (is_blocked(refused)) return base::join(who, "; a limit of 0 admits nothing");
  if (refused.never_fits()) return base::join(who, "; more than the bucket can ever hold, ask for less");
  if (!refused.retry_after())
    return base::join(who,
                      "; a bucket may expire before it holds this much, ask for no more than its capacity");
  return base::join(who, "; retry in ", std::to_string(refused.retry_after()->count()), " ms");
}

}  // namespace weir::api
