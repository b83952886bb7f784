#include "service/bodies.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "limits/names.h"

namespace weir::service {
namespace {

namespace ondemand = simdjson::ondemand;
using base::join;
using base::quoted;

constexpr std::size_t most_members = 256;

/// What reading takes; one per thread, since both keep their memory.
struct Reading {
  ondemand::parser parser;
  std::string padded;  ///< the document, with the room behind it that the parser may look at
};

/// The names of members that were seen; few in all but hostile bodies.
class Names {
 public:
  bool contains(std::string_view name) const {
    return std::find(few_.begin(), few_.begin() + std::min(count_, few_.size()), name) !=
               few_.begin() + std::min(count_, few_.size()) ||
           std::find(more_.begin(), more_.end(), name) != more_.end();
  }
  void add(std::string_view name) {
    if (count_ < few_.size()) {
      few_[count_] = name;
    } else {
      more_.push_back(name);
    }
    ++count_;
  }
  std::size_t size() const { return count_; }

 private:
  std::array<std::string_view, 8> few_;
  std::vector<std::string_view> more_;
  std::size_t count_ = 0;
};

/// Reads one document. The first mistake wins; after it nothing more is read. One at a time on each thread.
class Document {
 public:
  explicit Document(std::string_view json) {
    thread_local Reading reading;
    std::string& padded = reading.padded;
    // What one large body took is not kept for good.
    constexpr std::size_t kept = std::size_t{64} * 1024;
    if (padded.capacity() > kept && json.size() < kept / 2) padded = {};
    padded.reserve(json.size() + simdjson::SIMDJSON_PADDING);
    padded.assign(json);
    if (reading.parser.iterate(padded).get(document_) != simdjson::SUCCESS) malform("the body is not JSON");
  }

  /// The members of the whole document, which must be an object and nothing else.
  template <class Visit>
  void members(Visit&& visit) {
    if (failed()) return;
    ondemand::object object;
    if (document_.get_object().get(object) != simdjson::SUCCESS)
      return malform("the body must be a JSON object");
    visit_members(object, "the body", visit);
    const char* rest = nullptr;
    if (!failed() && document_.current_location().get(rest) == simdjson::SUCCESS)
      malform("there is something behind the JSON object");
  }
  template <class Visit>
  void members(ondemand::value& value, std::string_view of, Visit&& visit) {
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS)
      return malform(join(quoted(of), " must be an object"));
    visit_members(object, of, visit);
  }

  std::string text(ondemand::value& value, std::string_view of) {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) {
      malform(join(quoted(of), " must be a string"));
      return {};
    }
    return std::string(text);
  }
  bool flag(ondemand::value& value, std::string_view of) {
    bool flag = false;
    if (value.get_bool().get(flag) != simdjson::SUCCESS) malform(join(quoted(of), " must be true or false"));
    return flag;
  }
  std::int64_t integer(ondemand::value& value, std::string_view of) {
    std::int64_t number = 0;
    if (value.get_int64().get(number) != simdjson::SUCCESS)
      malform(join(quoted(of), " must be a whole number"));
    return number;
  }
  bool is_null(ondemand::value& value) {
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS || type != ondemand::json_type::null) return false;
    // The type is that of the first letter alone.
    bool null = false;
    if (value.is_null().get(null) != simdjson::SUCCESS || !null) malform("the body is not JSON");
    return true;
  }
  /// Numbers are taken as they are written, so that thousandths stay exact.
  Amount amount(ondemand::value& value, std::string_view of) {
    const std::string_view token = number_token(value, of);
    if (failed()) return {};
    auto parsed = Amount::parse(token);
    if (!parsed) {
      invalidate(join("amount of ", quoted(of), ": ", parsed.error().message));
      return {};
    }
    return *parsed;
  }
  Limit limit(ondemand::value& value, std::string_view name) {
    static const Limit none = *Limit::parse("0");
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return malform("a limit cannot be read"), none;
    Result<Limit> limit = none;
    if (type == ondemand::json_type::string) {
      limit = Limit::parse(text(value, name));
    } else if (type == ondemand::json_type::object) {
      limit = Limit::parse(long_form(value, name));
    } else {
      invalidate(
          join("limit ", quoted(name), " must be text such as \"100/min\", or an object with capacity"));
    }
    if (failed()) return none;
    if (!limit) {
      invalidate(join(name, ": ", limit.error().message));
      return none;
    }
    return *limit;
  }

  void malform(std::string message) {
    if (!failed()) malformed_ = std::move(message);
  }
  void invalidate(std::string message) {
    if (!failed()) invalid_ = std::move(message);
  }
  void unknown(std::string_view key, std::span<const std::string_view> known) {
    invalidate(join("field ", quoted(key), " is not known here", base::did_you_mean(key, known)));
  }
  bool failed() const { return !malformed_.empty() || !invalid_.empty(); }
  template <class T>
  Parsed<T> result(T value) {
    return {std::move(value), std::move(malformed_), std::move(invalid_)};
  }

 private:
  template <class Visit>
  void visit_members(ondemand::object& object, std::string_view of, Visit&& visit) {
    Names seen;
    for (auto member : object) {
      std::string_view key;
      ondemand::value value;
      if (member.unescaped_key().get(key) != simdjson::SUCCESS ||
          member.value().get(value) != simdjson::SUCCESS)
        return malform("the body is not JSON");
      if (seen.contains(key))
        return malform(join(quoted(key), " stands twice in ", of, "; keep one of them"));
      if (seen.size() == most_members) return malform(join(of, " has too many members"));
      // The parser keeps unescaped names until the next document.
      seen.add(key);
      visit(key, value);
      if (failed()) return;
    }
  }
  std::string_view number_token(ondemand::value& value, std::string_view of) {
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS || type != ondemand::json_type::number) {
      malform(join("amount of ", quoted(of), " must be a number"));
      return {};
    }
    std::string_view token = value.raw_json_token();
    token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
    if (is_plain(token)) return token;
    // Taken as a double too, which checks that it is a JSON number at all.
    double ignored = 0;
    if (value.get_double().get(ignored) != simdjson::SUCCESS) {
      malform(join("amount of ", quoted(of), " is not a JSON number"));
      return {};
    }
    return token;
  }
  /// Digits and nothing else, as most amounts are.
  static bool is_plain(std::string_view token) {
    return (token.size() == 1 || token.front() != '0') &&
           std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; });
  }
  /// The object as text again, its numbers as they were written.
  std::string long_form(ondemand::value& value, std::string_view name) {
    std::string json = "{";
    members(value, name, [&](std::string_view key, ondemand::value& member) {
      json += join(json.size() > 1 ? "," : "", base::json_string(key), ":", number_token(member, key));
    });
    return json + "}";
  }

  ondemand::document document_;
  std::string malformed_;
  std::string invalid_;
};

void read_amounts(Document& document, ondemand::value& value, std::string_view of, Amounts& amounts) {
  document.members(value, of, [&](std::string_view limit, ondemand::value& amount) {
    amounts.by_limit.emplace_back(limit, document.amount(amount, limit));
  });
}

void read_limits(Document& document, ondemand::value& value, std::vector<NamedLimit>& limits) {
  document.members(value, "limits", [&](std::string_view name, ondemand::value& limit) {
    if (auto checked = limits::check_limit_name(name); !checked)
      return document.invalidate(checked.error().message);
    limits.push_back({std::string(name), document.limit(limit, name)});
  });
}

Parsed<Amounts> parse_amounts(std::string_view json, std::string_view field) {
  Document document(json);
  Amounts amounts;
  document.members([&](std::string_view key, ondemand::value& value) {
    if (key != field) return document.unknown(key, std::span(&field, 1));
    read_amounts(document, value, field, amounts);
  });
  return document.result(std::move(amounts));
}

}  // namespace

Parsed<AcquireBody> parse_acquire(std::string_view json) {
  Document document(json);
  AcquireBody body;
  document.members([&](std::string_view key, ondemand::value& value) {
    static constexpr std::string_view known[] = {"entity", "resource", "consume", "limits"};
    if (key == "entity") {
      body.entity = document.text(value, key);
    } else if (key == "resource") {
      body.resource = document.text(value, key);
    } else if (key == "consume") {
      read_amounts(document, value, key, body.consume);
    } else if (key == "limits") {
      read_limits(document, value, body.limits);
    } else {
      document.unknown(key, known);
    }
  });
  return document.result(std::move(body));
}

Parsed<Amounts> parse_adjust(std::string_view json) { return parse_amounts(json, "consume"); }

Parsed<Amounts> parse_settle(std::string_view json) {
  if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) return {};
  return parse_amounts(json, "actual");
}

Parsed<LimitsBody> parse_limits_body(std::string_view json) {
  Document document(json);
  LimitsBody body;
  document.members([&](std::string_view key, ondemand::value& value) {
    static constexpr std::string_view known[] = {"limits", "on_unavailable", "bucket_ttl_refill_multiplier",
                                                 "owner", "ttl_ms"};
    SetLimitsOptions& options = body.options;
    if (key == "limits") {
      read_limits(document, value, body.limits);
    } else if (key == "on_unavailable") {
      const std::string policy = document.text(value, key);
      if (policy != "allow" && policy != "deny") document.invalidate("on_unavailable must be allow or deny");
      options.on_unavailable = policy == "allow" ? OnUnavailable::allow : OnUnavailable::deny;
    } else if (key == "bucket_ttl_refill_multiplier") {
      const std::int64_t number = document.integer(value, key);
      if (number < 1 || number > 1'000'000)
        document.invalidate("bucket_ttl_refill_multiplier must be 1 to 1000000");
      options.bucket_ttl_refill_multiplier = static_cast<int>(number);
    } else if (key == "owner") {
      const std::string owner = document.text(value, key);
      if (owner != "operator" && owner != "sync") document.invalidate("owner must be operator or sync");
      options.owner = owner == "sync" ? Owner::sync : Owner::operator_;
    } else if (key == "ttl_ms") {
      const std::int64_t ttl = document.integer(value, key);
      if (ttl < 1) document.invalidate("ttl_ms must be at least 1");
      options.expires_in = std::chrono::milliseconds(ttl);
    } else {
      document.unknown(key, known);
    }
  });
  return document.result(std::move(body));
}

Parsed<Entity> parse_entity(std::string_view json, std::string_view id) {
  Entity entity{.id = std::string(id)};
  if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) return {std::move(entity)};
  Document document(json);
  document.members([&](std::string_view key, ondemand::value& value) {
    static constexpr std::string_view known[] = {"parent", "cascade", "name", "metadata"};
    if (key == "parent") {
      // What a get answers can be put again.
      if (!document.is_null(value)) entity.parent = document.text(value, key);
    } else if (key == "cascade") {
      entity.cascade = document.flag(value, key);
    } else if (key == "name") {
      entity.name = document.text(value, key);
    } else if (key == "metadata") {
      document.members(value, key, [&](std::string_view name, ondemand::value& text) {
        entity.metadata.emplace(name, document.text(text, name));
      });
    } else if (key == "entity") {
      // Of an entity that was read before, as what follows: said by the store, not by the caller.
      if (document.text(value, key) != id)
        document.invalidate(join("the body is of another entity than ", quoted(id)));
    } else if (key == "created_at_ms") {
      static_cast<void>(document.integer(value, key));
    } else if (key == "from_file") {
      static_cast<void>(document.flag(value, key));
    } else {
      document.unknown(key, known);
    }
  });
  return document.result(std::move(entity));
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
