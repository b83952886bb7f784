// A gateway with one route to language models, and the requests of its clients.
#pragma once

#include <string>
#include <string_view>

#include "gateway/rig.h"
#include "support/eventually.h"

namespace weir::gateway {

inline std::string call(std::string_view path, std::string_view body,
                        std::string_view fields = "x-api-key: k\r\n") {
  return net::post(path, body, fields);
}
inline constexpr std::string_view chat = "/v1/chat/completions";

/// Reads a request with its body; false once the gateway has closed the connection.
inline bool read_request(Peer& peer, std::string* head = nullptr, std::string* body = nullptr) {
  const std::string read = peer.read_head();
  const std::size_t at = read.find("Content-Length: ");
  if (read.empty()) return false;
  const std::string content = at == std::string::npos ? "" : peer.read(std::stoul(read.substr(at + 16)));
  if (head != nullptr) *head = read;
  if (body != nullptr) *body = content;
  return true;
}

/// A gateway with one route, and what its store holds.
class LlmRig : public Rig {
 public:
  static std::string route_to(const std::string& url, const std::string& more) {
    return Rig::route(url, "llm: auto, limit_by: \"header:x-api-key\", name: models, " + more);
  }
  explicit LlmRig(const std::string& url,
                  const std::string& more = "limits: {rpm: 1000/day, tpm: 100000/day}",
                  std::size_t call_bodies = maxima::llm_bodies)
      : Rig(route_to(url, more), nullptr, 1, true, {}, std::chrono::minutes(1), decision_log::Keeps::off,
            nullptr, call_bodies) {}

  /// Consumed of a limit, in whole tokens; -1: there is no bucket.
  std::int64_t consumed(std::string_view limit, std::string_view resource = "m") {
    const auto page = gateway->decider()->core.buckets("k", {});
    EXPECT_TRUE(page);
    for (const Bucket& bucket : page->items) {
      for (const BucketLimit& found : bucket.limits) {
        if (bucket.resource == resource && found.name == limit) return found.consumed.millitokens() / 1000;
      }
    }
    return -1;
  }
  /// A call is settled after its answer has left.
  bool becomes(std::string_view limit, std::int64_t wanted, std::string_view resource = "m") {
    return tests::eventually([&] { return consumed(limit, resource) == wanted; });
  }
};

}  // namespace weir::gateway
