#include "gateway/llm_call.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "limits/names.h"
#include "wire/http_chars.h"
#include "wire/http_text.h"

namespace weir::gateway {
namespace {

using wire::http::same_name;

/// "text/event-stream" of "text/event-stream; charset=utf-8".
bool has_type(std::optional<std::string_view> field, std::string_view type) {
  return field && same_name(wire::http::trim(field->substr(0, field->find(';'))), type);
}

bool is_encoded(std::optional<std::string_view> field) { return field && !same_name(*field, "identity"); }

LlmCall::Problem problem(const llm::Unreadable& unreadable) {
  return {400, "unreadable_body", std::string(unreadable.why)};
}

}  // namespace

void LlmCall::start(const RouteSettings& route, const wire::http::RequestHead& request, const PathForms& path,
                    CallBodies& bodies) {
  route_ = &route;
  bodies_ = &bodies;
  // The upstream decodes the path, too. Its escapes are whole: other paths are refused.
  wire::http::percent_decode(path.canonical(), path_);
  endpoint_ = llm::endpoint_of(route.llm->vendor, path_);
  if (request.method() != wire::http::Method::post) endpoint_.api = llm::Api::other;
  request_ = {};
  body_.clear();
  body_bytes_ = 0;
  whole_ = removes_ = failed_ = false;
  resource_ = route.name;
  price_.reset();
  estimate_ = {};
  held_.clear();
  upstream_limits_.clear();
  left_ = {};
  held_output_ = 0;
  mode_ = Mode::none;
  observed_ = {};
}

LlmCall::Kept LlmCall::add_body(std::string_view data) {
  const std::size_t size = body_.size() + data.size();
  if (size > counted_) {
    // It doubles, so that a body in many parts is seldom copied.
    std::size_t room = std::max(size, std::min(2 * counted_, largest_body));
    if (!bodies_->take(room - counted_)) {
      room = size;
      if (!bodies_->take(room - counted_)) return Kept::no_room;
    }
    counted_ = room;
    body_.reserve(room);
  }
  body_ += data;
  return size <= largest_body ? Kept::more : Kept::enough;
}

void LlmCall::drop_body() {
  constexpr std::size_t kept = 4 * maxima::kib;
  body_.clear();
  if (body_.capacity() > kept) body_.shrink_to_fit();
  if (counted_ != 0) bodies_->give_back(std::exchange(counted_, 0));
}

ModelCallHead LlmCall::upstream_head() const {
  ModelCallHead head{.is_call = true, .counts_tokens = counts_tokens(), .body_begun = counts_tokens()};
  if (whole_) head.length = body_.size();
  head.key = route_->llm->upstream_key;
  switch (endpoint_.vendor) {
    case llm::Vendor::openai:
      head.key_field = "Authorization";
      head.key = route_->llm->upstream_bearer;
      break;
    case llm::Vendor::anthropic:
      head.key_field = "x-api-key";
      break;
    case llm::Vendor::gemini:
      head.key_field = "x-goog-api-key";
      break;
  }
  return head;
}

std::optional<LlmCall::Problem> LlmCall::read_body(bool whole, const wire::http::RequestHead& request) {
  whole_ = whole;
  body_bytes_ = body_.size();
  if (is_encoded(request.fields().find("content-encoding")))
    return Problem{415, "unsupported_encoding", "send the body without a content coding"};
  if (const auto unreadable = llm::read_request(endpoint_, body_, whole, request_))
    return problem(*unreadable);
  if (!whole) {
    rest_.start(endpoint_.api);
    if (const auto unreadable = rest_.feed(body_)) return problem(*unreadable);
    // The reader stops at a mistake that the scanner does not see, and misses what follows it.
    if (rest_.seen() != request_.seen) return problem(llm::no_json);
  }
  if (endpoint_.api == llm::Api::chat && whole && request_.streams && !request_.asks_for_usage) {
    llm::ask_for_usage(body_, request_);
    removes_ = true;
  }
  return choose_resource();
}

std::optional<LlmCall::Problem> LlmCall::check_rest(std::string_view data, bool end) {
  auto unreadable = rest_.feed(data);
  if (end && !unreadable) unreadable = rest_.end();
  if (unreadable) return problem(*unreadable);
  // The call was charged as one without a model.
  if (request_.model.empty() && rest_.seen().has(llm::Member::model))
    return Problem{400, "model_missing", "the model must stand in the first MiB of the body"};
  if (!request_.seen.has(llm::Member::background) && rest_.seen().has(llm::Member::background))
    return Problem{400, "unreadable_body",
                   "background must stand in the first MiB of the body; leave it out"};
  return std::nullopt;
}

std::optional<LlmCall::Problem> LlmCall::choose_resource() {
  const LlmSettings& settings = *route_->llm;
  const std::string& model = request_.model;
  const auto known = settings.models.find(model);
  if (known != settings.models.end()) {
    resource_ = known->second;
  } else if (settings.models.empty() && limits::check_resource(model)) {
    resource_ = model;
  } else if (settings.unknown_models == Unknown::refuse) {
    if (model.empty()) return Problem{400, "model_missing", "the request names no model"};
    return Problem{404, "model_not_found",
                   base::join("the model ", base::quoted(model), " is not offered here")};
  }
  if (settings.prices == nullptr) return std::nullopt;
  auto price = settings.prices->find(model);
  if (price == settings.prices->end()) price = settings.prices->find(resource_);
  if (price != settings.prices->end()) {
    price_ = price->second;
  } else if (settings.unpriced == Unknown::refuse) {
    return Problem{404, "model_not_found",
                   base::join("the model ", base::quoted(model), " has no price here")};
  }
  return std::nullopt;
}

llm::Usage LlmCall::estimated_usage() const {
  if (!counts_tokens()) return {};
  return {.input = estimate_.input, .output = estimate_.output};
}

llm::Figures LlmCall::figures_of(const llm::Usage& usage) const {
  return llm::figures_of(usage, price_ ? &*price_ : nullptr);
}

void LlmCall::estimate(const llm::Estimates& estimates, std::uint64_t narrow, std::uint64_t wide,
                       std::uint64_t body_bytes) {
  narrow_ = narrow;
  wide_ = wide;
  body_bytes_ = std::max<std::size_t>(body_bytes_, body_bytes);
  if (counts_tokens()) {
    estimate_ = estimates.of(narrow, wide, body_bytes_);
    if (request_.max_output) estimate_.output = *request_.max_output;
    if (endpoint_.api == llm::Api::embeddings) estimate_.output = 0;
  }
  set_charges();
}

void LlmCall::set_charges() {
  const llm::Figures figures = figures_of(estimated_usage());
  route_->llm->charges.list(figures, charges_);
  believed_.clear();
  for (const NamedLimit& limit : route_->limits)
    believed_.push_back({limit.name, route_->llm->charges.of(limit.name, figures)});
}

bool LlmCall::lower_guess(const LimitReport& refused) {
  if (!counts_tokens() || request_.max_output || estimate_.output <= 1) return false;
  const auto fits = [&](std::int64_t output) {
    estimate_.output = output;
    const llm::Figures figures = figures_of(estimated_usage());
    return std::all_of(refused.begin(), refused.end(), [&](const LimitStatus& status) {
      return !status.exceeded || route_->llm->charges.of(status.name, figures) <= status.burst;
    });
  };
  const std::int64_t before = estimate_.output;
  if (!fits(1)) {
    estimate_.output = before;
    return false;
  }
  std::int64_t least = 1;
  std::int64_t most = before;
  while (least + 1 < most) {
    const std::int64_t middle = least + (most - least) / 2;
    (fits(middle) ? least : most) = middle;
  }
  estimate_.output = least;
  set_charges();
  return true;
}

std::string LlmCall::describe() const {
  if (!counts_tokens()) return {};
  return base::join("the call may use about ", std::to_string(estimate_.input), " tokens of input and ",
                    request_.max_output ? "up to " : "about ", std::to_string(estimate_.output),
                    " of output");
}

void LlmCall::admitted(const LimitReport& report) {
  const llm::Figures figures = figures_of(estimated_usage());
  for (const LimitStatus status : report) {
    if (status.kind != Kind::rate || status.mode == weir::Mode::off || status.would_refuse) continue;
    const auto same = [&](const Held& held) { return held.name == status.name; };
    if (std::any_of(held_.begin(), held_.end(), same)) continue;
    held_.push_back({std::string(status.name), route_->llm->charges.of(status.name, figures)});
  }
  held_output_ = estimate_.output;
  if (!route_->llm->upstream_entity.empty())
    upstream_limits_ = upstream_limits(report, route_->llm->upstream_entity);
}

void LlmCall::start_answer(const wire::http::ResponseHead& answer) {
  if (!upstream_limits_.empty())
    left_ = llm::read_vendor_left(endpoint_.vendor, answer.status(), [&](std::string_view name) {
      return std::string_view(answer.fields().find(name).value_or(""));
    });
  failed_ = answer.status() >= 400;
  mode_ = Mode::none;
  const auto type = answer.fields().find("content-type");
  if (failed_ || !counts_tokens() || is_encoded(answer.fields().find("content-encoding"))) return;
  if (has_type(type, "text/event-stream")) {
    mode_ = Mode::events;
    // A stream can be ended only after a whole event.
    events_.start(shortens_answer());
  } else if (has_type(type, "application/json")) {
    mode_ = Mode::json;
    scanner_.start(endpoint_.api);
  }
}

llm::Usage LlmCall::seen_usage() const {
  llm::Usage usage = observed_.usage.disjoint(endpoint_.api);
  if (!observed_.usage.has_input()) usage.input = estimate_.input;
  const std::int64_t counted = observed_.counted_output();
  usage.output = std::max(usage.output, counted - usage.reasoning);
  return usage;
}

std::span<const Charge> LlmCall::outgrown() {
  more_.clear();
  if (mode_ != Mode::events || held_.empty()) return more_;
  const llm::Usage usage = seen_usage();
  if (usage.output + usage.reasoning <= held_output_) [[likely]]
    return more_;
  // Each step is at least a quarter of what was held, so that a long answer takes few.
  held_output_ =
      std::max(usage.output + usage.reasoning, held_output_ + std::max<std::int64_t>(held_output_ / 4, 1));
  llm::Usage next = usage;
  next.output = held_output_ - next.reasoning;
  const llm::Figures figures = figures_of(next);
  for (Held& held : held_) {
    const Amount now = route_->llm->charges.of(held.name, figures);
    if (now <= held.amount) continue;
    more_.push_back({held.name, Amount::milli(now.millitokens() - held.amount.millitokens())});
    held.amount = now;
  }
  return more_;
}

Settlement LlmCall::settle(CallEnd end, llm::Estimates& estimates) {
  Settlement settlement;
  if (end == CallEnd::unsent || failed_) {
    settlement.roll_back = true;
    return settlement;
  }
  const bool known = observed_.any_usage && observed_.usage.has_input() &&
                     (observed_.usage.has_output() || endpoint_.api == llm::Api::embeddings);
  const bool final = known && (end == CallEnd::complete || mode_ == Mode::json || observed_.ended);
  // Without a figure, and without a stream to count, what is held is the best guess.
  if (!final && mode_ != Mode::events) return settlement;
  const llm::Usage usage = final ? observed_.usage.disjoint(endpoint_.api) : seen_usage();
  settlement.usage = usage;
  const llm::Figures figures = figures_of(usage);
  for (const Held& held : held_)
    settlement.totals.push_back({held.name, route_->llm->charges.of(held.name, figures)});
  if (final) {
    estimates.learn(narrow_, wide_, body_bytes_,
                    {usage.input + usage.cached_input + usage.cache_write, usage.output + usage.reasoning});
  }
  return settlement;
}

}  // namespace weir::gateway
