// Bytes of a vendor and of a client. In pieces of any size the same events, the same bytes and the same usage
// come out; a request that was changed to ask for usage does so, and is otherwise the same; a request that is
// read as a whole also passes in pieces.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "llm/answer_reader.h"
#include "llm/body_scanner.h"
#include "llm/event_stream.h"
#include "llm/request.h"

namespace {

using namespace weir::llm;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Passed {
  std::vector<std::string> events;
  std::string bytes;
  Usage usage;
  std::int64_t counted = 0;
  friend bool operator==(const Passed&, const Passed&) = default;
};

Passed pass(Api api, std::string_view stream, std::size_t piece, bool removes) {
  Passed passed;
  EventStream events;
  Observed observed;
  events.start(removes);
  const auto out = [&](std::string_view bytes) { passed.bytes += bytes; };
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    events.feed(
        stream.substr(at, piece),
        [&](std::string_view data) {
          passed.events.emplace_back(data);
          const bool extra = read_event(api, data, observed).only_usage;
          return removes && extra ? EventStream::Verdict::remove : EventStream::Verdict::pass;
        },
        out);
  }
  events.finish(out);
  passed.usage = observed.usage.disjoint(api);
  passed.counted = observed.counted_output();
  return passed;
}

Usage scan(Api api, UsageScanner::Text text, std::string_view answer, std::size_t piece) {
  Observed observed;
  UsageScanner scanner;
  scanner.start(api, text);
  for (std::size_t at = 0; at < answer.size(); at += piece) scanner.feed(answer.substr(at, piece), observed);
  return observed.usage.disjoint(api);
}

/// What a scanner says of a body, and which members it saw.
struct Followed {
  std::string why;
  SeenMembers seen;
  friend bool operator==(const Followed&, const Followed&) = default;
};

Followed follow(Api api, std::string_view body, std::size_t piece) {
  BodyScanner scanner;
  scanner.start(api);
  for (std::size_t at = 0; at < body.size(); at += piece) scanner.feed(body.substr(at, piece));
  const auto problem = scanner.end();
  return {problem ? std::string(problem->why) : "", scanner.seen()};
}

void check_range(const Usage& usage) {
  for (const std::int64_t figure :
       {usage.input, usage.cached_input, usage.cache_write, usage.output, usage.reasoning})
    require(figure >= 0 && figure <= 2 * most_tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Api api = static_cast<Api>(data[0] % 5);
  const std::size_t piece = 1 + data[1] % 32;
  for (const bool removes : {false, true}) {
    const Passed whole = pass(api, bytes, bytes.size() + 1, removes);
    require(pass(api, bytes, 1, removes) == whole && pass(api, bytes, piece, removes) == whole);
    require(removes || whole.bytes == bytes);
    check_range(whole.usage);
  }
  for (const auto text : {UsageScanner::Text::answer, UsageScanner::Text::event}) {
    const Usage scanned = scan(api, text, bytes, bytes.size() + 1);
    require(scan(api, text, bytes, 1) == scanned && scan(api, text, bytes, piece) == scanned);
    check_range(scanned);
  }

  const Endpoint endpoint{.vendor = Vendor::openai, .api = api};
  CallRequest request;
  read_request(endpoint, bytes, false, request);
  const Followed followed = follow(api, bytes, bytes.size() + 1);
  require(follow(api, bytes, 1) == followed && follow(api, bytes, piece) == followed);
  CallRequest whole;
  // A body that is read as a whole also passes in pieces, with the same members.
  if (!read_request(endpoint, bytes, true, whole))
    require(followed.why.empty() && followed.seen == whole.seen);
  if (read_request(endpoint, bytes, true, request) || api != Api::chat || request.asks_for_usage) return 0;
  std::string changed(bytes);
  ask_for_usage(changed, request);
  CallRequest again;
  require(!read_request(endpoint, changed, true, again));
  require(again.asks_for_usage && again.model == request.model && again.max_output == request.max_output);
  return 0;
}
