// `weir store check` of a Redis server.
#include "base/text.h"
#include "store/redis/call.h"
#include "store/redis/check_records.h"
#include "store/redis/redis_store.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

using store::Finding;
using store::Severity;

/// The value of a line "name:value" of INFO.
std::string_view info(std::string_view text, std::string_view name) {
  const std::string line = base::join("\n", name, ":");
  const std::size_t at = text.find(line);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + line.size());
  return text.substr(0, text.find('\r'));
}

Finding check_eviction(std::string_view memory) {
  const std::string_view policy = info(memory, "maxmemory_policy");
  if (policy.empty()) return {Severity::warning, "eviction", "INFO does not tell the maxmemory policy"};
  if (policy == "noeviction")
    return {Severity::ok, "eviction", "noeviction: no bucket is forgotten for room"};
  const bool limited = info(memory, "maxmemory") != "0";
  return {Severity::failure, "eviction",
          base::join("maxmemory-policy is ", policy,
                     ": when memory runs out, buckets are forgotten and admit what they had refused",
                     limited ? "" : " (there is no maxmemory yet)",
                     "; use CONFIG SET maxmemory-policy noeviction")};
}

Finding check_role(std::string_view replication) {
  if (info(replication, "role") == "master") {
    const std::string_view replicas = info(replication, "connected_slaves");
    if (replicas == "0" || replicas.empty()) return {Severity::ok, "role", "primary without replicas"};
    return {Severity::warning, "role",
            base::join("primary with ", replicas,
                       " replicas: replication is asynchronous, so a failover forgets the last charges; "
                       "min-replicas-to-write bounds how many")};
  }
  return {Severity::failure, "role", "a replica, which cannot be written; use the address of the primary"};
}

Finding check_durability(std::string_view persistence, std::string_view fsync) {
  if (info(persistence, "aof_enabled") != "1") {
    return {Severity::warning, "durability",
            "no append-only file: a restart forgets charges, limits and leases since the last snapshot; use "
            "appendonly yes"};
  }
  if (fsync == "always") return {Severity::ok, "durability", "appendfsync always: a restart forgets nothing"};
  return {
      Severity::warning, "durability",
      base::join("appendfsync ", fsync.empty() ? "everysec" : fsync,
                 ": a crash of the machine may forget the last second of charges; always forgets nothing")};
}

Finding check_version(std::string_view server) {
  const std::string_view version = info(server, "redis_version");
  const auto major = base::parse_digits(version.substr(0, version.find('.')));
  if (major && *major >= 5) return {Severity::ok, "server", base::join("Redis ", version)};
  return {Severity::failure, "server", base::join("Redis ", version, " is too old; use 5 or later")};
}

}  // namespace

std::vector<Finding> check(const RedisStoreOptions& options) {
  std::vector<Finding> findings;
  base::SystemEntropy entropy;
  net::RedisClient client(options.server, entropy);
  client.start();
  const std::string address = options.server.address.to_string();
  if (auto ready = client.wait_until_ready(); !ready)
    return {{Severity::failure, "connection", ready.error().message}};
  findings.push_back({Severity::ok, "connection",
                      base::join(address, options.server.tls ? ", with TLS" : "",
                                 options.server.cluster ? ", a cluster" : "")});
  Context context{client, Names{options.prefix}, options.server.cluster, ServerTime(nullptr), entropy};
  BlockingCalls asking(context);
  const auto ask = [&](std::initializer_list<std::string_view> words) -> std::string {
    auto reply = asking.ask(context.names.store(), resp::command(words));
    if (!reply) return {};
    const Reply got = reply->get();
    if (!got.is_list()) return std::string(got.text());
    const auto texts = got.texts();
    return texts.size() == 2 ? std::string(texts[1]) : std::string();
  };
  const std::string everything = "\n" + ask({"INFO"});
  if (everything.size() == 1) {
    findings.push_back(
        {Severity::warning, "server", "INFO is not allowed to us; nothing more can be checked"});
    return findings;
  }
  findings.push_back(check_version(everything));
  findings.push_back(check_role(everything));
  findings.push_back(check_eviction(everything));
  findings.push_back(check_durability(everything, ask({"CONFIG", "GET", "appendfsync"})));
  check_records(context, findings);
  return findings;
}

}  // namespace weir::redis
