// limits set, get, delete, effective and list.
#include <algorithm>

#include "api/catalog_json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/hidden.h"
#include "cli/read.h"
#include "cli/text_table.h"
#include "cli/words.h"
#include "gateway/run.h"
#include "limits/limit_set.h"

namespace weir::cli {
namespace {

using base::invalid;
using base::join;

/// The options that name a level, for messages that suggest a command.
std::string options_of(const Level& level) {
  if (level.kind() == Source::system) return "--system";
  if (level.kind() == Source::resource) return join("--resource ", level.resource());
  if (level.kind() == Source::entity_default) return join("--entity ", level.entity());
  return join("--entity ", level.entity(), " --resource ", level.resource());
}

/// With the level of each limit, if they are given, and with modes, if one is not enforce.
void print_limits(const Session& session, std::span<const NamedLimit> limits,
                  std::span<const std::string> sources = {}) {
  using enum TextTable::Align;
  const bool modes = std::any_of(limits.begin(), limits.end(),
                                 [](const NamedLimit& limit) { return limit.limit.mode() != Mode::enforce; });
  std::vector<TextTable::Column> columns{{"LIMIT"}, {"CAPACITY", right}, {"BURST", right}, {"REFILL", right}};
  if (modes) columns.push_back({"MODE"});
  if (!sources.empty()) columns.push_back({"SOURCE"});
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const Limit& limit = limits[i].limit;
    std::vector<Cell> row{{limits[i].name},
                          {amount_text(limit.capacity())},
                          {amount_text(limit.burst())},
                          {refill_text(limit)}};
    if (modes) row.push_back({std::string(to_text(limit.mode()))});
    if (!sources.empty()) row.push_back({sources[i]});
    table.add(std::move(row));
  }
  table.print(session.out(), session.style());
}

void print_stored(const Session& session, const StoredLimits& stored) {
  if (session.json()) return session.print_json(api::to_json(stored));
  session.print_fields(
      {{"limits of", level_text(stored.level)},
       {"owner", join(name_of(stored.owner), stored.from_file ? ", from a limits file" : "")},
       {"expires", stored.expires_at ? relative_text(*stored.expires_at, session.now()) : ""},
       {"on unavailable", stored.on_unavailable ? name_of(*stored.on_unavailable) : ""},
       {"bucket ttl",
        stored.bucket_ttl_refill_multiplier
            ? join(std::to_string(*stored.bucket_ttl_refill_multiplier), " times the time to fill")
            : ""},
       {"usage", stored.usage ? base::on_or_off(*stored.usage) : ""},
       {"inherits", stored.inherit ? "the limits that it does not name" : ""}});
  print_limits(session, stored.limits);
}

Result<SetLimitsOptions> read_set_options(const Arguments& arguments) {
  SetLimitsOptions options;
  if (arguments.owner) {
    const auto owner = read_owner(*arguments.owner);
    if (!owner) return owner.error();
    options.owner = *owner;
  }
  if (arguments.expires) {
    const auto expires = read_duration("--expires", *arguments.expires);
    if (!expires) return expires.error();
    options.expires_in = *expires;
  }
  if (options.owner == Owner::sync && !options.expires_in)
    return invalid("--owner sync needs an expiry, such as --expires 30s");
  if (options.owner == Owner::operator_ && options.expires_in)
    return invalid("--expires needs --owner sync: an operator's limits do not expire");
  if (arguments.bucket_ttl_multiplier) {
    const auto multiplier =
        read_number("--bucket-ttl-multiplier", *arguments.bucket_ttl_multiplier, 1, 1'000'000);
    if (!multiplier) return multiplier.error();
    options.bucket_ttl_refill_multiplier = *multiplier;
  }
  if (arguments.on_unavailable) {
    const auto policy = read_on_unavailable(*arguments.on_unavailable);
    if (!policy) return policy.error();
    options.on_unavailable = *policy;
  }
  if (arguments.usage) {
    const auto usage = read_usage(*arguments.usage);
    if (!usage) return usage.error();
    options.usage = *usage;
  }
  options.inherit = arguments.inherit;
  return options;
}

TextTable list_table() {
  return TextTable({{"LEVEL"}, {"ENTITY"}, {"RESOURCE"}, {"OWNER"}, {"EXPIRES"}, {"FROM FILE"}, {"LIMITS"}});
}

std::vector<Cell> list_row(const StoredLimits& stored, Time now) {
  const auto or_dash = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  return {{name_of(stored.level.kind())},
          {or_dash(stored.level.entity())},
          {or_dash(stored.level.resource())},
          {name_of(stored.owner), stored.owner == Owner::sync ? Tone::warning : Tone::plain},
          {stored.expires_at ? relative_text(*stored.expires_at, now) : "never"},
          {stored.from_file ? "yes" : "no"},
          {join(option_text(std::span(stored.limits)), stored.inherit ? " (inherits)" : "")}};
}

/// The route of a gateway's file that charges a resource.
Result<gateway::RouteSettings> route_of(const std::string& config, std::string_view resource) {
  auto settings = gateway::check(config);
  if (!settings) return settings.error();
  std::string names;
  for (const gateway::RouteSettings& route : settings->routes) {
    if (route.name == resource) return route;
    names += join(names.empty() ? "" : ", ", route.name);
  }
  return invalid("no route of ", config, " is named ", base::quoted(resource), "; it has: ", names);
}

/// The limits that hold where the gateway asks: those of the route are the lowest level. `stored`: those of
/// the stored levels alone.
Result<EffectiveLimits> with_route(client::Target& target, const std::string& entity,
                                   const gateway::RouteSettings& route, Result<EffectiveLimits> stored) {
  if (!stored && stored.error().code != ErrorCode::no_limits) return stored;
  if (route.limits.empty()) return stored;
  const auto decided = target.available({entity, route.name, {}, route.limits});
  if (!decided) return decided.error();
  EffectiveLimits both{{}, Source::request, Owner::operator_, {}};
  if (stored) both = {{}, stored->source, stored->owner, {}};
  for (const LimitStatus status : decided->limits()) {
    if (status.entity != entity) continue;
    const auto& from = status.source == Source::request ? route.limits : stored->limits;
    const auto found = std::find_if(from.begin(), from.end(),
                                    [&](const NamedLimit& limit) { return limit.name == status.name; });
    if (found == from.end()) continue;
    both.limits.push_back(*found);
    both.sources.push_back(status.source);
  }
  return both;
}

}  // namespace

Result<ExitCode> limits_set(Session& session, const Arguments& arguments) {
  const auto level = read_level(arguments);
  if (!level) return level.error();
  auto limits = read_limits(arguments.limits);
  if (!limits) return limits.error();
  if (arguments.mode) {
    const auto mode = parse_mode(*arguments.mode);
    if (!mode) return base::invalid("--mode: ", mode.error().message);
    limits::set_mode(*limits, *mode);
  }
  const auto options = read_set_options(arguments);
  if (!options) return options.error();
  if (arguments.fill && level->entity().empty())
    return base::invalid("--fill needs --entity; weir reset ENTITY fills the buckets of one afterwards");
  client::Target& target = session.target();
  const auto stored = target.set_limits(*level, std::span(std::as_const(*limits)), *options);
  if (!stored) return stored.error();
  if (stored->taken_from_sync) {
    session.warn(
        join("these limits were sync's and are the operator's now; give them back with: weir limits delete ",
             options_of(*level)));
  }
  if (!stored->inherit) warn_of_hidden(session, target, *stored);
  session.warn_if_forgotten();
  if (arguments.fill) {
    const auto filled = target.reset(level->entity(), arguments.resource.value_or(""));
    if (!filled)
      return base::error(filled.error().code,
                         "the limits are set, but the buckets were not filled: ", filled.error().message);
  }
  print_stored(session, *stored);
  return done;
}

Result<ExitCode> limits_get(Session& session, const Arguments& arguments) {
  const auto level = read_level(arguments);
  if (!level) return level.error();
  client::Target& target = session.existing();
  const auto stored = target.limits(*level);
  if (!stored) return stored.error();
  print_stored(session, *stored);
  return done;
}

Result<ExitCode> limits_delete(Session& session, const Arguments& arguments) {
  const auto level = read_level(arguments);
  if (!level) return level.error();
  client::Target& target = session.existing();
  if (auto deleted = target.delete_limits(*level); !deleted) return deleted.error();
  if (!session.json()) session.out() << "deleted the limits of " << level_text(*level) << '\n';
  return done;
}

Result<ExitCode> limits_effective(Session& session, const Arguments& arguments) {
  if (!arguments.entity || !arguments.resource)
    return invalid("say for whom and for what: weir limits effective ENTITY RESOURCE");
  client::Target& target = session.existing();
  auto effective = target.effective_limits(*arguments.entity, *arguments.resource);
  if (!arguments.config.empty()) {
    const auto route = route_of(arguments.config, *arguments.resource);
    if (!route) return route.error();
    effective = with_route(target, *arguments.entity, *route, std::move(effective));
  }
  if (!effective) return effective.error();
  if (session.json()) {
    session.print_json(api::to_json(*effective));
    return done;
  }
  std::vector<std::string> sources;
  for (const Source source : effective->sources)
    sources.push_back(source == Source::request ? arguments.config : name_of(source));
  session.print_fields(
      {{"limits of", join(*arguments.entity, " on ", *arguments.resource)},
       {"source", effective->source == Source::request ? arguments.config : name_of(effective->source)},
       {"owner", name_of(effective->owner)}});
  print_limits(session, effective->limits, sources);
  return done;
}

Result<ExitCode> limits_list(Session& session, const Arguments& arguments) {
  LimitsFilter filter;
  if (arguments.level) {
    const auto level = read_source(*arguments.level);
    if (!level) return level.error();
    filter.level = *level;
  }
  if (arguments.owner) {
    const auto owner = read_owner(*arguments.owner);
    if (!owner) return owner.error();
    filter.owner = *owner;
  }
  client::Target& target = session.existing();
  const Time now = session.now();
  TextTable table = list_table();
  JsonList json(session.out(), "items");
  const auto page = [&](const Paging& paging) {
    if (!table.empty()) table.print(session.out(), session.style());
    return target.list_limits(filter, paging);
  };
  bool found = false;
  const auto visit = [&](const StoredLimits& stored) {
    found = true;
    if (session.json()) return json.add(api::item_json(stored));
    table.add(list_row(stored, now));
  };
  if (auto listed = for_each_item(page, visit); !listed) return listed.error();
  if (!found) session.note_empty_namespace();
  if (session.json()) {
    json.end();
  } else {
    table.print(session.out(), session.style());
  }
  return done;
}

}  // namespace weir::cli
