#include "store/dynamodb/start_up.h"

#include <utility>

#include "base/text.h"
#include "store/audit.h"
#include "store/client_version.h"
#include "store/dynamodb/blocking_calls.h"
#include "store/dynamodb/legacy.h"
#include "store/dynamodb/migrate.h"
#include "store/dynamodb/schema.h"

namespace weir::dynamodb {
namespace {

/// The least time between attempts while the table is unavailable.
constexpr std::chrono::milliseconds between_openings{250};
/// The time between checks whether there may still be legacy items.
constexpr std::chrono::milliseconds between_looks{60'000};

}  // namespace

StartUp::StartUp(Context& context)
    : remote::StartUp(
          context.entropy, between_openings,
          base::error(ErrorCode::unavailable, "table ", base::quoted(context.table), " is not open yet")),
      context_(context) {
  // Existing settings do not change, so the call may be sent again.
  repeatable = true;
}

void StartUp::request(std::chrono::milliseconds patience) {
  time = patience;
  made_ = false;
  ask_for_record();
}

void StartUp::ask_for_record() {
  const Key key = version_key();
  ask(Step::reading, batch_get(context_.table, std::span(&key, 1)));
}

void StartUp::ask(Step step, Request request_of_it) {
  step_ = step;
  operation = std::move(request_of_it.operation);
  aws::DynamoCall::request = std::move(request_of_it.json);
  context_.client.send(*this);
}

bool StartUp::may_have_legacy() {
  if (!may_have_legacy_.load(std::memory_order_relaxed)) return false;
  if (is_due(between_looks)) read();
  return true;
}

void StartUp::look() { ask(Step::looking, first_keys(context_.table)); }

/// The first process creates the record; another one may do so at the same time. From here on programs that
/// know only legacy items must not write: `least_client` shuts them out.
void StartUp::make(bool table_is_new) {
  ItemWrite write{.kind = ItemWrite::Kind::update, .key = version_key()};
  Expression& expression = write.expression;
  expression.condition(base::join("attribute_not_exists(", expression.name("lease_key"), ")"));
  expression.set("schema_version", Value::of(std::int64_t{schema_version}));
  expression.set("least_client", Value::of(std::int64_t{schema_version}));
  expression.set("migration", Value::of(table_is_new ? migration::none : migration::pending));
  expression.set("lease_key", Value::of_bytes(lease_key_bytes()));
  expression.set("keep_audit_for", Value::of(store::keep_audit_for_by_default));
  made_ = true;
  ask(Step::making, single_write(context_.table, write));
}

void StartUp::on_answer(const aws::DynamoAnswer& answer) {
  if (step_ == Step::looking) {
    if (auto other = sharded_layout(context_.table, answer.items)) return end(*std::move(other));
    return make(answer.items.empty());
  }
  if (step_ == Step::making || !answer.unprocessed.empty()) return ask_for_record();
  const bool ours =
      !answer.items.empty() && (wire::aws::find(answer.items[0], "lease_key") != nullptr ||
                                wire::aws::integer_of(answer.items[0], "least_client") >= schema_version);
  if (ours) return end(take(answer.items[0]));
  if (made_) {
    return end(base::error(ErrorCode::unavailable, "the version record of table ",
                           base::quoted(context_.table), " cannot be written"));
  }
  // A record that an older program has written stays, and gets further attributes.
  answer.items.empty() ? look() : make(false);
}

void StartUp::on_error(const aws::DynamoFailure& failure) {
  using Kind = aws::DynamoFailure::Kind;
  if (step_ == Step::making && failure.kind == Kind::condition) return ask_for_record();
  // A process without the permission to read must assume that there are items.
  if (step_ == Step::looking && failure.kind == Kind::denied) return make(false);
  end(error_of_read(failure));
}

Result<void> StartUp::take(const Item& item) {
  if (wire::aws::integer_of(item, "least_client").value_or(0) > store::client_version) {
    return base::error(ErrorCode::unavailable, "table ", base::quoted(context_.table),
                       " was written by a newer weir; use that one");
  }
  const Value* const bytes = wire::aws::find(item, "lease_key");
  if (bytes == nullptr || !set_lease_key(bytes->text)) {
    return base::error(ErrorCode::unavailable, "the version record of table ", base::quoted(context_.table),
                       " is damaged");
  }
  const Time keep = wire::aws::integer_of(item, "keep_audit_for").value_or(store::keep_audit_for_by_default);
  keep_audit_for(keep > 0 ? keep : store::keep_audit_for_by_default);
  const std::string_view state = wire::aws::text_of(item, "migration");
  may_have_legacy_.store(state == migration::pending || state == migration::running,
                         std::memory_order_relaxed);
  return {};
}

}  // namespace weir::dynamodb
