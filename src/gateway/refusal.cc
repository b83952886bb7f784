#include "gateway/refusal.h"

#include <algorithm>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "service/rate_limit_fields.h"
#include "wire/http_chars.h"
#include "wire/http_text.h"

namespace weir::gateway {
namespace {

using wire::http::same_name;

/// Thousandths; 1000 without a q, 0 for one that makes no sense.
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

/// How well a media range suits what we would send: not at all, by */*, by text/*, or by name.
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

/// The names of the limits that refused, each once.
std::vector<std::string_view> exceeded(const LimitReport& report) {
  std::vector<std::string_view> names;
  for (const LimitStatus& status : report) {
    if (status.exceeded && std::find(names.begin(), names.end(), status.name) == names.end())
      names.push_back(status.name);
  }
  return names;
}

void append_detail(std::string& out, const Decision& refused, const std::vector<std::string_view>& names) {
  out += names.size() == 1 ? "over the limit " : "over the limits ";
  for (const std::string_view name : names) {
    if (name != names.front()) out += ", ";
    out += name;
  }
  if (const auto wait = refused.retry_after()) {
    out += "; retry in ";
    out += std::to_string(wait->count());
    out += " ms";
  } else {
    out += "; the request is more than it can ever hold";
  }
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
    // Browsers ask for pages; a line of text is nearer to one than JSON is.
    const int page = closeness(type, "text/html", "text/*");
    text.look(std::max(plain, page), quality);
    const int problem = closeness(type, "application/problem+json", "application/*");
    json.look(std::max(problem, closeness(type, "application/json", "application/*")), quality);
  }
  return text.quality > json.quality;
}

void write_refusal(service::Reply& reply, const Decision& refused, std::string_view accept) {
  reply.status = 429;
  reply.body.clear();
  service::append_retry_after(reply.fields, refused);
  const auto names = exceeded(refused.limits());
  if (prefers_text(accept)) {
    reply.content_type = "text/plain; charset=utf-8";
    reply.body += "Too many requests: ";
    append_detail(reply.body, refused, names);
    reply.body += '\n';
    return;
  }
  reply.content_type = "application/problem+json";
  // Names of limits have nothing in them that JSON would escape.
  reply.body +=
      R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",)"
      R"("title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"detail":")";
  append_detail(reply.body, refused, names);
  reply.body += R"(","retry_after_ms":)";
  reply.body += refused.retry_after() ? std::to_string(refused.retry_after()->count()) : "null";
  reply.body += R"(,"violated-policies":[)";
  for (const std::string_view name : names) {
    if (name != names.front()) reply.body += ',';
    reply.body += '"';
    reply.body += name;
    reply.body += '"';
  }
  reply.body += "]}";
}

service::Reply own_answer(int status, std::string_view type, std::string_view detail,
                          std::string_view accept) {
  if (!prefers_text(accept)) return service::problem(status, type, detail);
  return {.status = status, .body = base::join(detail, "\n"), .content_type = "text/plain; charset=utf-8"};
}

}  // namespace weir::gateway
