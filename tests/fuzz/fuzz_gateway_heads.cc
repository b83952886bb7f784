// Heads on their way through the gateway. If the gateway accepts the head of a client or of an upstream, the
// next reader understands the head that the gateway writes in the same way: it has one Host, one way to find
// the end of the body, and no field that was for one connection only. A call with the gateway's key has no
// key of the client.
#include <cstdlib>
#include <string>
#include <string_view>

#include "gateway/heads.h"
#include "gateway/model_keys.h"
#include "wire/http_chars.h"
#include "wire/http_text.h"

namespace {

using namespace weir;
using wire::http::Progress;

void check(bool condition) {
  if (!condition) std::abort();
}

constexpr std::string_view own_key = "the-gateways-key";

/// A call with the gateway's own key has no other, and none of the fields that choose an account.
void check_keys(const wire::http::RequestHead& passed) {
  const auto& fields = passed.fields();
  check(gateway::keys_in(fields) == 1 && fields.find("x-api-key") == own_key);
  check(gateway::keys_in_query(passed.query()) == 0);
  for (std::size_t i = 0; i < fields.size(); ++i)
    check(!gateway::is_model_account(fields[i].name) && !gateway::is_other_method(fields[i].name));
  check(fields.count("accept-encoding") == 1 && fields.find("accept-encoding") == "identity");
}

/// Nothing that the vendor gets of a counted call asks for an answer without usage.
void check_query(const wire::http::RequestHead& passed, const gateway::QueryRules& rules) {
  check(gateway::query_for_vendor(passed.query(), rules) == passed.query());
  if (rules.counts_tokens) check(passed.fields().count("x-goog-fieldmask") == 0);
}

void pass_request(std::string_view bytes, bool trusted, bool with_key, bool counts_tokens) {
  wire::http::RequestParser parser(wire::http::Limits{});
  wire::http::RequestHead head;
  if (parser.parse(bytes, head) != Progress::complete) return;
  wire::Buffer out;
  const std::string allowed[] = {"websocket"};
  gateway::ModelCallHead call;
  if (with_key)
    call = {.is_call = true, .counts_tokens = counts_tokens, .key_field = "x-api-key", .key = own_key};
  const gateway::QueryRules rules{.drops_keys = true, .counts_tokens = counts_tokens};
  gateway::write_upstream_head(
      out, head, {.peer = "192.0.2.1", .v6 = false, .trusted = trusted, .tls = false, .host = head.host()},
      {.path = head.path(),
       .host = head.host(),
       .upgrade = gateway::allowed_upgrade(head, allowed),
       .model_call = call});
  // The added fields may be longer than the bound for clients.
  wire::http::Limits wide;
  wide.head *= 4;
  wide.start_line *= 2;
  wide.fields *= 2;
  wire::http::RequestParser again(wide);
  wire::http::RequestHead passed;
  check(again.parse(out.view(), passed) == Progress::complete);
  check(again.size() == out.size());
  check(passed.method_text() == head.method_text());
  check(passed.path() == head.path());
  check(passed.query() == (with_key ? gateway::query_for_vendor(head.query(), rules) : head.query()));
  if (with_key) check_keys(passed);
  if (with_key) check_query(passed, rules);
  check(passed.host() == head.host());
  check(passed.body() == head.body());
  check(passed.keep_alive());
  check(!passed.upgrade() || (head.upgrade() && head.body().kind == wire::http::Framing::Kind::none));
  check(!passed.upgrade() || wire::http::list_has(*passed.fields().find("upgrade"), "websocket"));
  check(!passed.fields().find("http2-settings"));
  check(passed.expects_continue() == head.expects_continue());
  const auto& fields = passed.fields();
  check(fields.count("host") == 1 && fields.count("via") == 1 && fields.count("x-forwarded-for") == 1);
  check(fields.count("connection") <= 1 && !fields.find("keep-alive") && !fields.find("proxy-connection"));
  if (!trusted) check(fields.find("x-forwarded-for") == "192.0.2.1" && fields.count("forwarded") == 1);
}

void pass_answer(std::string_view bytes) {
  for (const auto method : {wire::http::Method::get, wire::http::Method::head}) {
    wire::http::ResponseParser parser(wire::http::Limits{});
    wire::http::ResponseHead head;
    if (parser.parse(bytes, method, head) != Progress::complete) continue;
    wire::Buffer out;
    out.append("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n");
    gateway::write_answer_fields(
        out, head,
        {.for_upgrade = head.status() == 101, .without_vendor_limits = method == wire::http::Method::head});
    out.append("\r\n");
    wire::http::Limits wide;
    wide.head *= 4;
    wide.fields *= 2;
    wire::http::ResponseParser again(wide);
    wire::http::ResponseHead passed;
    check(again.parse(out.view(), wire::http::Method::get, passed) == Progress::complete);
    check(again.size() == out.size());
    check(passed.body() == wire::http::Framing{wire::http::Framing::Kind::length, 7});
    check(passed.fields().count("via") == 1 && passed.fields().count("date") <= 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of its own size, so that reading past its end is seen.
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  pass_request(bytes, (data[0] & 1U) != 0, (data[0] & 2U) != 0, (data[0] & 4U) != 0);
  pass_answer(bytes);
  return 0;
}
