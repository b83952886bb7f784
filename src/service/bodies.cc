#include "service/bodies.h"

#include <algorithm>

#include "base/text.h"
#include "json/document.h"
#include "limits/limit_set.h"
#include "limits/names.h"
#include "service/plain_acquire.h"
#include "service/plan_body.h"
#include "weir/limiter.h"

namespace weir::service {
namespace {

using base::join;
using base::quoted;
using json::Document;
using json::most_members;

void read_amounts(Document& document, json::Value& value, std::string_view of, Amounts& amounts) {
  constexpr std::size_t usual = 4;
  amounts.by_limit.reserve(usual);
  document.members(value, of, [&](std::string_view limit, json::Value& amount) {
    amounts.by_limit.emplace_back(limit, document.amount(amount, limit));
  });
}

Parsed<Amounts> parse_amounts(std::string_view json, std::string_view field) {
  Document document(json);
  Amounts amounts;
  document.members([&](std::string_view key, json::Value& value) {
    if (key != field) return document.unknown(key, std::span(&field, 1));
    read_amounts(document, value, field, amounts);
  });
  return document.result(std::move(amounts));
}

std::chrono::milliseconds read_lease_ms(Document& document, json::Value& value, std::string_view of) {
  const std::int64_t lease_ms = document.integer(value, of);
  if (lease_ms < 1) document.invalidate("lease_ms must be at least 1");
  return std::chrono::milliseconds(lease_ms);
}

std::chrono::milliseconds read_max_wait_ms(Document& document, json::Value& value, std::string_view of) {
  const std::int64_t wait_ms = document.integer(value, of);
  if (wait_ms < 0 || wait_ms > AcquireOptions::longest_wait.count()) {
    document.invalidate(base::join("max_wait_ms must be 0 to ",
                                   std::to_string(AcquireOptions::longest_wait.count()),
                                   "; a longer wait is for the caller, by retry_after_ms"));
  }
  return std::chrono::milliseconds(wait_ms);
}

}  // namespace

Parsed<AcquireBody> parse_acquire(std::string_view json) {
  AcquireBody body;
  if (read_plain_acquire(json, body)) return {std::move(body)};
  return parse_any_acquire(json);
}

Parsed<AcquireBody> parse_any_acquire(std::string_view json) {
  Document document(json);
  AcquireBody body;
  document.members([&](std::string_view key, json::Value& value) {
    static constexpr std::string_view known[] = {"entity", "resource", "consume",
                                                 "limits", "lease_ms", "max_wait_ms"};
    if (key == "entity") {
      body.entity = document.text(value, key);
    } else if (key == "resource") {
      body.resource = document.text(value, key);
    } else if (key == "consume") {
      read_amounts(document, value, key, body.consume);
    } else if (key == "limits") {
      body.limits = document.limits(value, key);
    } else if (key == "lease_ms") {
      body.lease_for = read_lease_ms(document, value, key);
    } else if (key == "max_wait_ms") {
      body.max_wait = read_max_wait_ms(document, value, key);
    } else {
      document.unknown(key, known);
    }
  });
  return document.result(std::move(body));
}

Parsed<std::chrono::milliseconds> parse_extend(std::string_view json) {
  Document document(json);
  std::chrono::milliseconds lease_for{0};
  document.members([&](std::string_view key, json::Value& value) {
    static constexpr std::string_view known[] = {"lease_ms"};
    if (key != known[0]) return document.unknown(key, known);
    lease_for = read_lease_ms(document, value, key);
  });
  if (lease_for.count() == 0) document.invalidate("lease_ms is missing; say how long the lease goes on");
  return document.result(lease_for);
}

Parsed<AdjustBody> parse_adjust(std::string_view json) {
  Document document(json);
  AdjustBody body;
  document.members([&](std::string_view key, json::Value& value) {
    static constexpr std::string_view known[] = {"consume", "enforce"};
    if (key == "consume") {
      read_amounts(document, value, key, body.consume);
    } else if (key == "enforce") {
      body.debt = document.flag(value, key) ? Debt::refused : Debt::allowed;
    } else {
      document.unknown(key, known);
    }
  });
  return document.result(std::move(body));
}

Parsed<GrantBody> parse_grant(std::string_view json) {
  Document document(json);
  GrantBody body;
  document.members([&](std::string_view key, json::Value& value) {
    static constexpr std::string_view known[] = {"resource", "amounts", "expires_in_ms"};
    if (key == "resource") {
      body.resource = document.text(value, key);
    } else if (key == "amounts") {
      read_amounts(document, value, key, body.amounts);
    } else if (key == "expires_in_ms") {
      body.expires_in = std::chrono::milliseconds(document.integer(value, key));
    } else {
      document.unknown(key, known);
    }
  });
  return document.result(std::move(body));
}

Parsed<Amounts> parse_settle(std::string_view json) {
  if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) return {};
  return parse_amounts(json, "actual");
}

Parsed<LimitsBody> parse_limits_body(std::string_view json) {
  Document document(json);
  LimitsBody body;
  Mode mode = Mode::enforce;
  document.members([&](std::string_view key, json::Value& value) {
    static constexpr std::string_view known[] = {
        "limits", "on_unavailable", "bucket_ttl_refill_multiplier", "usage", "owner", "ttl_ms", "inherit",
        "mode"};
    SetLimitsOptions& options = body.options;
    if (key == "limits") {
      body.limits = document.limits(value, key);
    } else if (key == "on_unavailable") {
      const std::string policy = document.text(value, key);
      if (policy != "allow" && policy != "deny") document.invalidate("on_unavailable must be allow or deny");
      options.on_unavailable = policy == "allow" ? OnUnavailable::allow : OnUnavailable::deny;
    } else if (key == "bucket_ttl_refill_multiplier") {
      const std::int64_t number = document.integer(value, key);
      if (number < 1 || number > 1'000'000)
        document.invalidate("bucket_ttl_refill_multiplier must be 1 to 1000000");
      options.bucket_ttl_refill_multiplier = static_cast<int>(number);
    } else if (key == "usage") {
      options.usage = read_usage(document, value, key);
    } else if (key == "owner") {
      const std::string owner = document.text(value, key);
      if (owner != "operator" && owner != "sync") document.invalidate("owner must be operator or sync");
      options.owner = owner == "sync" ? Owner::sync : Owner::operator_;
    } else if (key == "ttl_ms") {
      const std::int64_t ttl = document.integer(value, key);
      if (ttl < 1) document.invalidate("ttl_ms must be at least 1");
      options.expires_in = std::chrono::milliseconds(ttl);
    } else if (key == "inherit") {
      options.inherit = document.flag(value, key);
    } else if (key == "mode") {
      mode = read_mode(document, value, key);
    } else {
      document.unknown(key, known);
    }
  });
  limits::set_mode(body.limits, mode);
  return document.result(std::move(body));
}

Parsed<Entity> parse_entity(std::string_view json, std::string_view id) {
  Entity entity{.id = std::string(id)};
  if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) return {std::move(entity)};
  Document document(json);
  document.members([&](std::string_view key, json::Value& value) {
    static constexpr std::string_view known[] = {"parent", "cascade", "plan", "name", "metadata"};
    if (key == "parent") {
      // The answer of a get can be put again.
      if (!document.is_null(value)) entity.parent = document.text(value, key);
    } else if (key == "plan") {
      if (!document.is_null(value)) entity.plan = document.text(value, key);
    } else if (key == "cascade") {
      entity.cascade = document.flag(value, key);
    } else if (key == "name") {
      entity.name = document.text(value, key);
    } else if (key == "metadata") {
      document.members(value, key, [&](std::string_view name, json::Value& text) {
        entity.metadata.emplace(name, document.text(text, name));
      });
    } else if (key == "entity") {
      // This and the next are in the answer of a get; they are accepted and ignored.
      if (document.text(value, key) != id)
        document.invalidate(join("the body is of another entity than ", quoted(id)));
    } else if (key == "created_at_ms") {
      static_cast<void>(document.integer(value, key));
    } else if (key == "from_file") {
      static_cast<void>(document.flag(value, key));
    } else if (key == "access") {
      // Set by calls of its own; a member that is not read is skipped.
    } else {
      document.unknown(key, known);
    }
  });
  return document.result(std::move(entity));
}

Parsed<std::vector<NamedLimit>> parse_request_limits(std::string_view json) {
  Document document(json, "limits");
  std::vector<NamedLimit> limits = document.limits();
  return document.result(std::move(limits));
}

Parsed<Amounts> parse_consume_list(std::string_view text) {
  Parsed<Amounts> parsed;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = one.find(':');
    if (colon == std::string_view::npos || parsed.value.by_limit.size() == most_members) {
      parsed.malformed = join("consume ", quoted(one), ": write limit:amount, such as rpm:1,tpm:500");
      return parsed;
    }
    auto amount = Amount::parse(one.substr(colon + 1));
    if (!amount) {
      parsed.invalid = join("consume ", quoted(one), ": ", amount.error().message);
      return parsed;
    }
    parsed.value.by_limit.emplace_back(one.substr(0, colon), *amount);
  }
  return parsed;
}

}  // namespace weir::service
