// Items of usage, and the aggregator's own: cursors, leases of shards, resources. Drawn in
// docs/format/dynamodb.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/dynamodb/names.h"
#include "store/dynamodb/request.h"
#include "store/usage.h"
#include "usage/aggregator.h"

namespace weir::dynamodb {

inline constexpr std::string_view usage_prefix = "#USAGE#";
/// The partition of the aggregator's own items.
inline constexpr std::string_view aggregator_pk = "AGGREGATOR#";
inline constexpr std::string_view shard_prefix = "#SHARD#";
inline constexpr std::string_view resource_prefix = "#RESOURCE#";
/// In the item of the latest hour of a bucket: what was counted of it. Names of limits begin with a letter.
inline constexpr std::string_view cursor_attribute = "_c";

/// The first and the last moment that a window can start at: years of four digits.
inline constexpr Time last_window = 253'402'297'200'000;
/// "2026-11-17T23:00:00Z".
std::string window_text(Time start);
/// Nothing if it is not the text of a moment, with or without the time of day.
std::optional<Time> parse_window(std::string_view text);

/// The key of a window. A day has no time of day in its key: its first hour starts at the same moment.
Key usage_key(const usage::BucketId& bucket, UsageWindow window, Time start);
/// The prefix of the sort keys of a resource's usage.
std::string usage_sort_prefix(std::string_view resource);
std::string usage_index_pk(std::string_view name_space, std::string_view resource);
/// Where the windows that start at a moment begin in the index.
std::string usage_index_sk(Time start, std::string_view entity = {});

/// The bucket and the window that a key names; nothing where it is not one of usage.
struct UsageName {
  usage::BucketId bucket;
  UsageWindow window = UsageWindow::hour;
  Time start = 0;
};
std::optional<UsageName> usage_name(const Key& key);

/// Fails on an item that weir did not write.
Result<Usage> read_usage(const Item& item);
/// The cursor in an item; nothing if there is none that can be used.
std::optional<usage::StreamCursor> read_cursor(const Item& item);

/// The attribute that holds the amount of a limit: its name, unless another attribute has it.
std::string usage_attribute(std::string_view limit);

/// Renders a write of the aggregator. `kept`: how long.
ItemWrite render(const usage::BucketId& bucket, const usage::HourWrite& write, const store::UsageKept& kept);

/// Adds hours to the day that they are folded into.
ItemWrite addition(const usage::BucketId& bucket, const Usage& day, const store::UsageKept& kept);

/// The request for the latest hour of a bucket, which has its cursor.
Request latest_hour(const std::string& table, const usage::BucketId& bucket);
/// The request for a step of a cursor. Only one copy of it can be carried out.
Request usage_request(const std::string& table, const usage::BucketId& bucket, const usage::Advance& step,
                      const store::UsageKept& kept);
/// Adds a resource to those whose old usage is folded.
ItemWrite registration(const usage::BucketId& bucket);

ItemWrite render(const usage::LeaseChange& change, Time now);
ItemWrite render_erase(const usage::ShardLease& lease);
std::optional<usage::ShardLease> read_lease(const Item& item);

}  // namespace weir::dynamodb
