// The command line as text: each command parses and checks its own part.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::cli {

/// The options of every command.
struct Common {
  std::optional<std::string> store;
  std::optional<std::string> server;
  std::optional<std::string> token_file;
  std::optional<std::string> ca_file;
  std::optional<std::string> timeout;
  std::optional<std::string> name_space;
  std::optional<std::string> output;
  std::optional<std::string> color;
  std::optional<std::string> principal;
};

struct Arguments {
  Common common;

  // Entity and resource. Empty if not given.
  std::optional<std::string> entity;
  std::optional<std::string> resource;
  bool system = false;

  // Deciding.
  std::vector<std::string> consume;  ///< NAME=AMOUNT
  std::vector<std::string> limits;   ///< NAME:LIMIT
  bool lease = false;
  std::string lease_id;
  std::optional<std::string> lease_for;
  std::optional<std::string> wait;
  bool enforce = false;
  std::optional<std::string> key;

  // Limits.
  std::optional<std::string> owner;
  std::optional<std::string> expires;
  std::optional<std::string> bucket_ttl_multiplier;
  std::optional<std::string> on_unavailable;
  std::optional<std::string> usage;
  bool inherit = false;
  std::optional<std::string> mode;
  std::optional<std::string> level;
  std::string file;
  bool dry_run = false;

  // Plans.
  std::optional<std::string> plan;
  std::vector<std::string> inherit_on;  ///< resources

  // Entities.
  std::optional<std::string> parent;
  bool cascade = false;
  std::optional<std::string> name;
  std::vector<std::string> metadata;  ///< NAME=VALUE

  // Namespaces; `name` is the name of one.
  std::optional<std::string> keep;
  bool due = false;
  bool at_once = false;

  // Access.
  std::optional<std::string> until;
  std::optional<std::string> reason;
  bool remove = false;
  bool fill = false;  ///< the buckets, with the limits of their entity

  // The audit and the store.
  std::optional<std::string> limit;
  std::optional<std::string> keep_audit;
  std::optional<std::string> store_template;
  std::optional<std::string> rate;
  std::optional<std::string> copy_from;
  std::optional<std::string> copy_to;
  bool cost = false;
  std::optional<std::string> sort;
  std::optional<std::string> below;
  std::optional<std::string> rows;
  std::optional<std::string> kind;
  std::optional<std::string> since;

  // The load test.
  std::optional<std::string> concurrency;
  std::optional<std::string> duration;
  std::optional<std::string> requests;
  std::optional<std::string> confirm;

  // Usage.
  std::optional<std::string> children_of;
  std::optional<std::string> window;
  std::optional<std::string> from;
  std::optional<std::string> to;
  std::optional<std::string> top;
  std::optional<std::string> by;
  bool plot = false;
  bool follow = false;
  std::optional<std::string> interval;

  // The service.
  std::optional<std::string> listen;
  std::optional<std::string> threads;
  std::optional<std::string> tokens;
  std::optional<std::string> tls_cert;
  std::optional<std::string> tls_key;
  bool insecure = false;
  bool aggregate = false;
  std::optional<std::string> batch;
  std::optional<std::string> log_format;
  std::optional<std::string> log_level;
  std::optional<std::string> access_log;
  std::optional<std::string> decision_log;
  std::optional<std::string> decision_log_mode;
  std::optional<std::string> decision_log_size;
  std::optional<std::string> decision_log_keep;
  std::optional<std::string> decision_log_lines;

  // The gateway.
  std::string config;
  bool check = false;

  // Sync.
  std::optional<std::string> action;
  std::optional<std::string> sync_config;
  std::optional<std::string> metrics_file;
  std::optional<std::string> regions;
  std::optional<std::string> demand;
  std::optional<std::string> floor;
  bool once = false;

  // Decisions.
  std::optional<std::string> decision;
  std::optional<std::string> log_file;
  std::optional<std::string> at;

  std::string shell;
  std::vector<std::string> topic;
};

}  // namespace weir::cli
