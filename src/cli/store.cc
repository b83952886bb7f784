// store init, check and show.
#include <array>

#include "api/catalog_json.h"
#include "api/finding_json.h"
#include "app/store_url.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/read.h"
#include "cli/text_table.h"
#include "cli/words.h"
#include "store/bucket_now.h"

namespace weir::cli {
namespace {

using app::Severity;
using base::join;

Tone tone_of(Severity severity) {
  switch (severity) {
    case Severity::ok:
      return Tone::good;
    case Severity::warning:
      return Tone::warning;
    default:
      return Tone::bad;
  }
}

void print_bucket(const Session& session, const Bucket& bucket) {
  using enum TextTable::Align;
  const Time now = session.now();
  session.print_fields(
      {{"bucket of", join(bucket.entity, " on ", bucket.resource)},
       {"written", join(relative_text(bucket.refilled_at, now), ", ", moment_text(bucket.refilled_at))},
       {"expires", bucket.expires_at ? relative_text(*bucket.expires_at, now) : "never"}});
  TextTable table({{"LIMIT"},
                   {"NOW", right},
                   {"WHEN WRITTEN", right},
                   {"CAPACITY", right},
                   {"BURST", right},
                   {"REFILL", right},
                   {"CONSUMED", right},
                   {"FULL"},
                   {""}});
  for (const BucketLimit& limit : bucket.limits) {
    const Amount held = store::held_at(bucket, limit, now);
    table.add({{limit.name},
               {amount_text(held), held < Amount() ? Tone::bad : Tone::plain},
               {amount_text(limit.tokens)},
               {amount_text(limit.limit.capacity())},
               {amount_text(limit.limit.burst())},
               {refill_text(limit.limit)},
               {amount_text(limit.consumed)},
               {relative_text(store::full_at(bucket, limit, now), now)},
               {limit.in_force ? "" : "no longer in force", Tone::quiet}});
  }
  table.print(session.out(), session.style());
  for (const BucketLimit& limit : bucket.limits) {
    for (const GrantLeft& grant : limit.grants) {
      if (grant.end && *grant.end <= now) continue;
      session.out() << "granted " << amount_text(grant.amount) << " more of " << limit.name << ", "
                    << (grant.end ? join("until ", moment_text(*grant.end)) : "until it is used") << "\n";
    }
  }
}

}  // namespace

Result<ExitCode> store_init(Session& session, const Arguments& arguments) {
  if (!arguments.common.store && said({}, session.world(), "WEIR_SERVER"))
    return base::invalid("WEIR_SERVER is set, and a store is made here; say which with --store URL");
  if (arguments.store_template) {
    constexpr std::array<std::string_view, 4> kinds = {"cloudformation", "terraform", "iam", "iam-aggregate"};
    const auto kind = read_choice("--template", *arguments.store_template, kinds);
    if (!kind) return kind.error();
    const auto text = app::store_template(session.store(), *arguments.store_template);
    if (!text) return text.error();
    session.out() << *text << (text->ends_with('\n') ? "" : "\n");
    return done;
  }
  std::string kept;
  if (arguments.keep_audit) {
    const auto keep = read_duration("--keep-audit", *arguments.keep_audit);
    if (!keep) return keep.error();
    session.options().keep_audit_for = *keep;
    kept = join("; the audit is kept for ", duration_text(*keep));
  }
  const auto say = [&](const std::string& what) {
    if (session.world().err_is_terminal) session.world().err << what << '\n';
  };
  if (auto made = session.world().make(session.store(), say); !made) return made.error();
  const auto opened = session.world().open(session.store(), session.options());
  if (!opened) return opened.error();
  for (const std::string& warning : (*opened)->warnings()) session.warn(warning);
  session.warn_if_forgotten();
  if (session.json()) {
    session.print_json(
        base::JsonWriter::object().text("store", app::without_password(session.store())).str());
  } else {
    session.out() << session.style()(Tone::good, "ready") << ": "
                  << printable(app::without_password(session.store())) << kept << '\n';
  }
  return done;
}

namespace {

std::string migrated_json(const app::MigrationReport& report, bool dry_run) {
  auto problems = base::JsonWriter::array();
  for (const std::string& problem : report.problems) problems.add(base::json_string(problem));
  return base::JsonWriter::object()
      .raw("dry_run", dry_run ? "true" : "false")
      .text("state", report.state)
      .raw("resumed", report.resumed ? "true" : "false")
      .raw("items", std::to_string(report.counts.found))
      .raw("buckets", std::to_string(report.counts.buckets))
      .raw("absorbed", std::to_string(report.counts.absorbed))
      .raw("expired", std::to_string(report.counts.expired))
      .raw("problems", problems.str())
      .str();
}

void print_migrated(const Session& session, const app::MigrationReport& report, bool dry_run) {
  const auto& counts = report.counts;
  session.out() << (dry_run ? "to convert: " : "converted: ") << counts.found << " items of "
                << counts.buckets << " buckets";
  if (counts.absorbed > 0) session.out() << ", " << counts.absorbed << " into buckets that were there";
  if (counts.expired > 0) session.out() << "; " << counts.expired << " had expired";
  session.out() << "\nmigration: " << report.state << '\n';
  for (const std::string& problem : report.problems)
    session.out() << session.style()(Tone::bad, "problem") << ": " << printable(problem) << '\n';
}

}  // namespace

Result<ExitCode> store_migrate(Session& session, const Arguments& arguments) {
  app::MigrationOptions options;
  if (arguments.rate) {
    const auto rate = read_number("--rate", *arguments.rate, 1, 100'000);
    if (!rate) return rate.error();
    options.most_per_second = static_cast<unsigned>(*rate);
  }
  auto report = session.world().migrate(session.store(), options);
  if (!report) return report.error();
  // Unreadable items are reported before anything is changed.
  if (!arguments.dry_run && report->problems.empty()) {
    const std::size_t buckets = report->counts.buckets;
    Progress progress(session.world(), "converting");
    options.dry_run = false;
    options.progress = [&](const store::MigrationProgress& so_far) {
      progress.show(so_far.buckets, buckets);
    };
    report = session.world().migrate(session.store(), options);
    if (!report) return report.error();
  }
  const bool dry_run = options.dry_run;
  session.json() ? session.print_json(migrated_json(*report, dry_run))
                 : print_migrated(session, *report, dry_run);
  return report->problems.empty() ? done : failure;
}

Result<ExitCode> store_check(Session& session, const Arguments& /*arguments*/) {
  const auto findings = session.existing().check();
  if (!findings) return findings.error();
  bool failed = false;
  TextTable table({{"RESULT"}, {"CHECK"}, {"DETAIL"}});
  JsonList json(session.out(), "findings");
  for (const app::Finding& finding : *findings) {
    failed = failed || finding.severity == Severity::failure;
    if (session.json()) {
      json.add(api::to_json(finding));
    } else {
      table.add({{name_of(finding.severity), tone_of(finding.severity)}, {finding.what}, {finding.detail}});
    }
  }
  if (session.json()) {
    json.end();
  } else {
    table.print(session.out(), session.style());
  }
  return failed ? failure : done;
}

Result<ExitCode> reset(Session& session, const Arguments& arguments) {
  const auto buckets = session.existing().reset(*arguments.entity, arguments.resource.value_or(""));
  if (!buckets) return buckets.error();
  JsonList json(session.out(), "buckets");
  for (const Bucket& bucket : *buckets) {
    if (session.json()) {
      json.add(api::to_json(bucket, session.now()));
    } else {
      print_bucket(session, bucket);
    }
  }
  if (session.json()) json.end();
  if (buckets->empty() && !session.json())
    session.out() << printable(*arguments.entity)
                  << " has no bucket to fill: the first acquire finds a full one\n";
  return done;
}

Result<ExitCode> grant(Session& session, const Arguments& arguments) {
  const auto charges = read_charges(arguments.consume);
  if (!charges) return charges.error();
  GrantOptions options{.key = arguments.key.value_or("")};
  if (arguments.expires) {
    const auto expires = read_duration("--expires", *arguments.expires);
    if (!expires) return expires.error();
    options.expires_in = *expires;
  }
  const auto bucket = session.existing().grant(*arguments.entity, *arguments.resource, *charges, options);
  if (!bucket) return bucket.error();
  if (session.json()) {
    session.out() << api::to_json(*bucket, session.now()) << "\n";
  } else {
    print_bucket(session, *bucket);
  }
  return done;
}

Result<ExitCode> store_show(Session& session, const Arguments& arguments) {
  client::Target& target = session.existing();
  bool found = false;
  JsonList json(session.out(), "buckets");
  const auto show = [&](const Bucket& bucket) {
    if (arguments.resource && bucket.resource != *arguments.resource) return;
    if (session.json()) {
      json.add(api::to_json(bucket, session.now()));
    } else {
      if (found) session.out() << '\n';
      print_bucket(session, bucket);
    }
    found = true;
  };
  auto listed =
      for_each_item([&](const Paging& paging) { return target.buckets(*arguments.entity, paging); }, show);
  if (!listed) return listed.error();
  if (!found) {
    return base::error(ErrorCode::not_found, "entity ", base::quoted(*arguments.entity), " has no bucket",
                       arguments.resource ? join(" on ", base::quoted(*arguments.resource)) : "",
                       "; one is made by the first acquire, and expires when it was full for long");
  }
  if (session.json()) json.end();
  return done;
}

}  // namespace weir::cli
