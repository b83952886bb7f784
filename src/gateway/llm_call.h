// One call to a language model: what it may cost, what has been seen of its answer, and what it did cost. No
// sockets and no store: ProxiedRequest feeds it and does what it says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/call_bodies.h"
#include "gateway/gateway_file.h"
#include "gateway/heads.h"
#include "gateway/request_path.h"
#include "gateway/upstream_limits.h"
#include "llm/answer_reader.h"
#include "llm/body_scanner.h"
#include "llm/estimate.h"
#include "llm/event_stream.h"
#include "llm/request.h"
#include "llm/stream_end.h"
#include "weir/report.h"
#include "wire/http_request.h"
#include "wire/http_response.h"

namespace weir::gateway {

/// How far a call got.
enum class CallEnd : std::uint8_t {
  unsent,      ///< the vendor did not get the request
  unanswered,  ///< it may have got the request, and sent no answer
  cut,         ///< the answer began and did not end, or the client left
  complete,
};

/// The change that ends a call's lease.
struct Settlement {
  bool roll_back = false;
  std::vector<Charge> totals = {};  ///< empty: what is held stays charged. The names belong to the call.
  std::optional<llm::Usage> usage = {};
};

/// Reused for call after call; keeps small allocations.
class LlmCall {
 public:
  /// A problem with the request, for the client.
  struct Problem {
    int status = 400;
    std::string_view code = {};
    std::string text = {};
  };

  /// `bodies` outlives the call.
  void start(const RouteSettings& route, const wire::http::RequestHead& request, const PathForms& path,
             CallBodies& bodies);
  llm::Vendor vendor() const { return endpoint_.vendor; }
  /// Whether tokens are counted. Other calls are one request, and their bodies are not read.
  bool counts_tokens() const { return endpoint_.api != llm::Api::other; }

  enum class Kept : std::uint8_t {
    more,     ///< the next part is kept, too
    enough,   ///< no more is kept: the rest is only passed on
    no_room,  ///< this part is not kept: the bodies of all calls are too many
  };
  /// A part of the client's body.
  Kept add_body(std::string_view data);
  /// After the body, or its begin where it is larger than what is kept.
  std::optional<Problem> read_body(bool whole, const wire::http::RequestHead& request);
  /// The next part of a body that is larger than what is kept, before it is passed on.
  std::optional<Problem> check_rest(std::string_view data, bool end);
  /// Whether body() is the whole body, perhaps changed.
  bool has_whole_body() const { return whole_; }
  const std::string& body() const { return body_; }
  void drop_body();
  /// The changes to the head for the upstream.
  ModelCallHead upstream_head() const;

  const std::string& model() const { return request_.model; }
  const std::string& resource() const { return resource_; }

  /// Makes the estimate. The keys are those of llm::Estimates.
  void estimate(const llm::Estimates& estimates, std::uint64_t narrow, std::uint64_t wide,
                std::uint64_t body_bytes);
  /// The charge before the call, of each limit that has an expression.
  std::span<const Charge> charges() const { return charges_; }
  /// The same for the limits of the route, in their order.
  std::span<const Charge> believed() const { return believed_; }
  /// After a refusal that no wait helps: a smaller guess of the output, where it was the gateway's guess and
  /// the rest fits. False if there is none.
  bool lower_guess(const LimitReport& refused);
  /// "about 1200 tokens of input and up to 4096 of output", for a refusal.
  std::string describe() const;
  /// Notes which limits the lease holds.
  void admitted(const LimitReport& report);

  void start_answer(const wire::http::ResponseHead& answer);
  /// After start_answer(): the limits of the upstream's entity of which the vendor has less than its bucket,
  /// with what the vendor has.
  std::vector<Charge> vendor_lowers() const { return lower_ones(upstream_limits_, left_); }
  /// Whether the answer is shorter than it comes: an event that the client did not ask for is taken out.
  bool shortens_answer() const { return mode_ == Mode::events && (removes_ || ends_when_exhausted()); }
  /// Whether the stream is ended when no more can be charged for it.
  bool ends_when_exhausted() const { return route_->llm->on_exhausted == OnExhausted::end; }
  /// The last events of a stream that is ended.
  std::string stream_end() const { return llm::stream_end(endpoint_.api, request_.model); }
  /// A part of the answer's body. Calls pass(bytes) with what goes to the client.
  template <class Pass>
  void feed(std::string_view bytes, Pass&& pass);
  /// At the end of the answer.
  template <class Pass>
  void finish_answer(Pass&& pass) {
    if (mode_ == Mode::events) events_.finish(pass);
  }
  /// More charges, once the output has passed what is held; empty: not needed. The caller charges them.
  std::span<const Charge> outgrown();

  /// At the end of the call. Learns from it.
  Settlement settle(CallEnd end, llm::Estimates& estimates);
  /// The tokens that were estimated before the call.
  std::int64_t estimated_tokens() const { return estimate_.input + estimate_.output; }

 private:
  enum class Mode : std::uint8_t { none, events, json };
  struct Held {
    std::string name;
    Amount amount;
  };
  void set_charges();
  std::optional<Problem> choose_resource();
  llm::Usage estimated_usage() const;
  llm::Figures figures_of(const llm::Usage& usage) const;
  /// The usage that is known now, where the vendor has not said it all.
  llm::Usage seen_usage() const;
  /// The largest body that is kept.
  static constexpr std::size_t largest_body = maxima::llm_body;

  const RouteSettings* route_ = nullptr;
  std::string path_;  ///< decoded
  llm::Endpoint endpoint_;
  llm::CallRequest request_;
  std::string body_;
  CallBodies* bodies_ = nullptr;
  std::size_t counted_ = 0;     ///< bytes that are taken of bodies_
  std::size_t body_bytes_ = 0;  ///< of the client's body
  bool whole_ = false;
  llm::BodyScanner rest_;  ///< of a body that is not whole
  bool removes_ = false;
  std::string resource_;
  std::optional<llm::Price> price_;

  llm::Estimate estimate_;
  std::uint64_t narrow_ = 0;
  std::uint64_t wide_ = 0;
  std::vector<Charge> charges_;
  std::vector<Charge> believed_;
  std::vector<Held> held_;
  std::int64_t held_output_ = 0;
  std::vector<Charge> more_;
  std::vector<UpstreamLimit> upstream_limits_;  ///< as the decision left them
  llm::VendorLeft left_;

  Mode mode_ = Mode::none;
  bool failed_ = false;  ///< the vendor has answered with an error
  llm::Observed observed_;
  llm::EventStream events_;
  llm::UsageScanner scanner_;  ///< of an answer that is JSON, or of a large event
};

template <class Pass>
void LlmCall::feed(std::string_view bytes, Pass&& pass) {
  if (mode_ == Mode::events) {
    const auto on_event = [this](std::string_view data) {
      const bool extra = llm::read_event(endpoint_.api, data, observed_).only_usage;
      return removes_ && extra ? llm::EventStream::Verdict::remove : llm::EventStream::Verdict::pass;
    };
    const auto on_part = [this](const llm::EventStream::Part& part) {
      if (part.begins) scanner_.start(endpoint_.api, llm::UsageScanner::Text::event);
      if (!observed_.ended) scanner_.feed(part.bytes, observed_);
    };
    return events_.feed(bytes, on_event, pass, on_part);
  }
  if (mode_ == Mode::json) scanner_.feed(bytes, observed_);
  pass(bytes);
}

}  // namespace weir::gateway
