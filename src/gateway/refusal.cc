#include "gateway/refusal.h"

#include <algorithm>
#include <vector>

#include "api/decision_json.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "base/text_writer.h"
#include "server/rate_limit_fields.h"
#include "wire/http_chars.h"
#include "wire/http_text.h"

namespace weir::gateway {
namespace {

using base::TextWriter;
using wire::http::same_name;

/// Thousandths; 1000 without a q, 0 if it is malformed.
int quality_of(std::string_view range) {
  const std::size_t at = range.find(";q=");
  if (at == std::string_view::npos) return 1000;
  std::string_view text = range.substr(at + 3);
  text = wire::http::trim(text.substr(0, text.find(';')));
  if (text.empty() || (text[0] != '0' && text[0] != '1')) return 0;
  int quality = (text[0] - '0') * 1000;
  int unit = 100;
  for (std::size_t i = 2; i < text.size() && i < 5; ++i, unit /= 10) {
    if (text[i] < '0' || text[i] > '9') return 0;
    quality += (text[i] - '0') * unit;
  }
  return std::min(quality, 1000);
}

/// How closely a media range matches the offered type: not at all, by */*, by text/*, or by name.
int closeness(std::string_view type, std::string_view ours, std::string_view family) {
  if (same_name(type, ours)) return 3;
  if (same_name(type, family)) return 2;
  return type == "*/*" ? 1 : 0;
}

struct Suitability {
  int closeness = 0;
  int quality = 0;
  void look(int close, int range_quality) {
    if (close == 0 || close < closeness) return;
    quality = close > closeness ? range_quality : std::max(quality, range_quality);
    closeness = close;
  }
};

/// The parts of a decision that the client sees.
struct Explanation {
  const std::vector<std::string_view>& names;  ///< of the limits that refused
  std::string_view wait;                       ///< empty: no wait helps, or none is known
  bool never_fits;
  bool is_blocked;  ///< by a limit of 0
  bool from_memory;
  const Block* block;     ///< by an operator; null: not
  std::string_view ends;  ///< of that block; empty: it has no end
};

/// Clients do not learn the reason, which is written for operators.
void write_detail(TextWriter& writer, const Explanation& explanation) {
  if (explanation.block != nullptr) {
    writer.put("blocked");
    if (explanation.ends.empty()) return;
    writer.put(" until ");
    return writer.text(explanation.ends);
  }
  writer.put("over the limit");
  std::string_view separator = explanation.names.size() == 1 ? " " : "s ";
  for (const std::string_view name : explanation.names) {
    writer.text(separator);
    writer.text(name);
    separator = ", ";
  }
  if (explanation.is_blocked) return writer.put("; a limit of 0 admits nothing");
  if (explanation.never_fits) return writer.put("; the request is more than it can ever hold");
  if (explanation.wait.empty())
    return writer.put("; no wait can be promised for so much at once, try again later");
  writer.put("; retry in ");
  writer.text(explanation.wait);
  writer.put(" ms");
}

/// Names of limits need no escapes in JSON.
void write_problem(TextWriter& writer, const Explanation& explanation, std::string_view decision) {
  writer.put(
      R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",)"
      R"("title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"detail":")");
  write_detail(writer, explanation);
  writer.put(R"(","retry_after_ms":)");
  if (!explanation.wait.empty()) {
    writer.text(explanation.wait);
  } else {
    writer.text(explanation.never_fits ? R"(null,"never_fits":true)" : R"(null,"never_fits":false)");
  }
  if (explanation.from_memory) writer.put(R"(,"from_memory":true)");
  if (explanation.block != nullptr) {
    writer.put(R"(,"blocked":true)");
    if (explanation.block->until) {
      writer.put(R"(,"until_ms":)");
      writer.number(*explanation.block->until);
    }
  }
  if (!decision.empty()) {
    writer.put(R"(,"decision":")");
    writer.text(decision);
    writer.put("\"");
  }
  writer.put(R"(,"violated-policies":[)");
  std::string_view separator = "\"";
  for (const std::string_view name : explanation.names) {
    writer.text(separator);
    writer.text(name);
    writer.put("\"");
    separator = ",\"";
  }
  writer.put("]}");
}

}  // namespace

bool prefers_text(std::string_view accept) {
  if (accept.empty() || accept == "*/*") return false;
  Suitability json;
  Suitability text;
  wire::http::ListElements ranges(accept);
  for (std::string_view range; ranges.next(range);) {
    const std::string_view type = wire::http::trim(range.substr(0, range.find(';')));
    const int quality = quality_of(range);
    const int plain = closeness(type, "text/plain", "text/*");
    // Browsers ask for text/html; a line of text is closer to it than JSON.
    const int page = closeness(type, "text/html", "text/*");
    text.look(std::max(plain, page), quality);
    const int problem = closeness(type, "application/problem+json", "application/*");
    json.look(std::max(problem, closeness(type, "application/json", "application/*")), quality);
  }
  return text.quality > json.quality;
}

namespace {

/// Calls use(explanation, room), where room is enough for each name once, with a separator.
template <class Use>
void explain(const Decision& refused, Use&& use) {
  thread_local std::vector<std::string_view> names;
  api::find_exceeded(names, refused.limits());
  const auto time = refused.retry_after();
  const std::string wait = time ? std::to_string(time->count()) : std::string();
  const Block* const block = refused.block();
  const std::string ends =
      block != nullptr && block->until ? base::rfc3339_text(*block->until) : std::string();
  use(Explanation{names, wait, refused.never_fits(), api::is_blocked(refused), refused.from_memory(), block,
                  ends},
      refused.limits().text_size() + 3 * names.size());
}

/// Room for everything but the names.
constexpr std::size_t fixed = 512;

}  // namespace

std::string refusal_detail(const Decision& refused) {
  std::string detail;
  explain(refused, [&](const Explanation& explanation, std::size_t room) {
    base::append_written(detail, fixed + room,
                         [&](TextWriter& writer) { write_detail(writer, explanation); });
  });
  return detail;
}

void write_refusal(server::Reply& reply, const Decision& refused, std::string_view accept,
                   std::string_view decision) {
  reply.status = 429;
  reply.body.clear();
  server::append_retry_after(reply.fields, refused);
  const bool text = prefers_text(accept);
  reply.content_type = text ? "text/plain; charset=utf-8" : "application/problem+json";
  explain(refused, [&](const Explanation& explanation, std::size_t room) {
    // The body has each name twice.
    base::append_written(reply.body, fixed + 2 * room + decision.size(), [&](TextWriter& writer) {
      if (!text) return write_problem(writer, explanation, decision);
      writer.put("Too many requests: ");
      write_detail(writer, explanation);
      if (!decision.empty()) {
        writer.put(" (decision ");
        writer.text(decision);
        writer.put(")");
      }
      writer.put("\n");
    });
  });
}

server::Reply own_answer(int status, std::string_view type, std::string_view detail,
                         std::string_view accept) {
  if (!prefers_text(accept)) return server::problem(status, type, detail);
  return {.status = status, .body = base::join(detail, "\n"), .content_type = "text/plain; charset=utf-8"};
}

}  // namespace weir::gateway
