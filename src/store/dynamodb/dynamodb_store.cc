#include "store/dynamodb/dynamodb_store.h"

#include "aws/endpoint.h"
#include "base/json.h"
#include "base/text.h"
#include "store/dynamodb/blocking_calls.h"

namespace weir::dynamodb {
namespace {

/// How long the start-up may take: where opening depends on it, and where it is retried anyway.
constexpr std::chrono::milliseconds patience{10'000};
constexpr std::chrono::milliseconds short_patience{2'000};

/// The wall clock; lives as long as the program.
const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

conditional::Settings settings_of(const StoreOptions& options) {
  conditional::Settings settings;
  // With one common clock no margin is needed.
  if (!options.clock) {
    settings.margin = (options.clock_bound + options.deadline + std::chrono::milliseconds(1000)).count();
    settings.most_ahead = options.clock_bound.count();
  }
  settings.attempts = 16;
  return settings;
}

}  // namespace

Result<aws::Url> check_endpoint(const StoreOptions& options, std::string_view endpoint) {
  return aws::check_endpoint(endpoint,
                             {.service = "DynamoDB", .owner = "the store", .insecure = options.insecure});
}

namespace {

/// The options of a client, without the probe. `service`: the variable of the environment for its endpoint.
Result<aws::DynamoOptions> client_options(const StoreOptions& options, std::string_view service) {
  const aws::Environment machine = aws::Environment::of_process();
  std::string endpoint = options.endpoint;
  if (endpoint.empty()) endpoint = aws::endpoint_of(machine, service).value_or("");
  std::string region = options.region;
  if (region.empty()) region = aws::region_of(machine).value_or(endpoint.empty() ? "" : "us-east-1");
  if (region.empty())
    return base::invalid("no region is known for DynamoDB; add ?region=... to the URL, or set AWS_REGION");
  aws::DynamoOptions how;
  how.region = region;
  if (!endpoint.empty()) {
    auto url = check_endpoint(options, endpoint);
    if (!url) return url.error();
    how.endpoint = *std::move(url);
  }
  how.ca_file = options.ca_file;
  how.deadline = options.deadline;
  return how;
}

Result<std::unique_ptr<aws::DynamoClient>> start(aws::DynamoOptions how, const Clock& system,
                                                 base::Entropy& entropy) {
  auto keeper = aws::find_credentials(how.endpoint.server, how.ca_file, aws::Environment::of_process());
  if (!keeper) return keeper.error();
  return aws::DynamoClient::start(std::move(how), *std::move(keeper), system, entropy);
}

}  // namespace

Result<std::unique_ptr<aws::DynamoClient>> connect(const StoreOptions& options, const Clock& system,
                                                   base::Entropy& entropy) {
  auto how = client_options(options, "DYNAMODB");
  if (!how) return how.error();
  if (how->endpoint.server.host.empty()) how->endpoint = aws::dynamodb_endpoint(how->region);
  const Key probe = version_key();
  how->probe_operation = "BatchGetItem";
  how->probe_request = batch_get(options.table, std::span(&probe, 1)).json;
  return start(*std::move(how), system, entropy);
}

Result<std::unique_ptr<aws::DynamoClient>> connect_to_streams(const StoreOptions& options,
                                                              const Clock& system, base::Entropy& entropy) {
  auto how = client_options(options, "DYNAMODB_STREAMS");
  if (!how) return how.error();
  if (how->endpoint.server.host.empty()) how->endpoint = aws::streams_endpoint(how->region);
  how->target_prefix = aws::streams_target_prefix;
  how->probe_operation = "ListStreams";
  how->probe_request = base::JsonWriter::object().text("TableName", options.table).number("Limit", 1).str();
  return start(*std::move(how), system, entropy);
}

DynamoStore::DynamoStore(const StoreOptions& options, std::unique_ptr<aws::DynamoClient> client,
                         std::shared_ptr<base::SystemEntropy> entropy, std::shared_ptr<const Clock> clock)
    : entropy_(std::move(entropy)),
      clock_(std::move(clock)),
      client_(std::move(client)),
      context_{*client_,
               options.table,
               *clock_,
               *entropy_,
               settings_of(options),
               options.clock ? 0 : options.clock_bound.count(),
               options.refuse_for.count(),
               options.settle_single,
               Memory(options.cache_for),
               {}},
      start_up_(context_),
      catalog_(context_, start_up_),
      buckets_(context_),
      usage_(context_) {
  context_.start_up = &start_up_;
}

// The client's thread uses the other members, so it ends first.
DynamoStore::~DynamoStore() { client_.reset(); }

Result<std::shared_ptr<DynamoStore>> DynamoStore::open(const StoreOptions& options) {
  auto entropy = std::make_shared<base::SystemEntropy>();
  auto client = connect(options, system_clock(), *entropy);
  if (!client) return client.error();
  std::shared_ptr<const Clock> clock = options.clock;
  if (!clock) clock = std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &system_clock());
  const std::shared_ptr<DynamoStore> store(
      new DynamoStore(options, *std::move(client), std::move(entropy), std::move(clock)));
  auto ready = store->start_up_.read_and_wait(options.must_be_reachable ? patience : short_patience);
  if (ready) ready = store->context_.check_clock();
  if (!ready && options.must_be_reachable) return ready.error();
  return store;
}

Result<void> DynamoStore::keep_audit_for(Time duration) {
  BlockingCalls asking(context_);
  if (auto may = asking.check_may_wait(); !may) return may;
  ItemWrite write{.kind = ItemWrite::Kind::update, .key = version_key()};
  write.expression.set("keep_audit_for", Value::of(duration));
  const auto set = asking.ask(single_write(context_.table, write), true);
  if (!set.ok()) return aws::error_of(*set.failure);
  start_up_.keep_audit_for(duration);
  return {};
}

Result<void> DynamoStore::keep_usage(const store::UsageKept& kept) {
  BlockingCalls asking(context_);
  if (auto may = asking.check_may_wait(); !may) return may;
  ItemWrite write{.kind = ItemWrite::Kind::update, .key = version_key()};
  write.expression.set("keep_usage_hours", Value::of(kept.hours));
  write.expression.set("keep_usage_days", Value::of(kept.days));
  const auto set = asking.ask(single_write(context_.table, write), true);
  if (!set.ok()) return aws::error_of(*set.failure);
  return {};
}

Result<void> DynamoStore::require_client(int version) { return catalog_.require_client(version); }

Result<void> DynamoStore::health() const {
  if (auto well = client_->health(); !well) return well;
  if (auto open = start_up_.check(); !open) return open;
  return context_.check_clock();
}

std::vector<store::Counter> DynamoStore::counters() const {
  std::vector<store::Counter> counters;
  const auto add = [&](std::string_view name, std::string_view help,
                       std::vector<store::Counter::Label> labels, const std::atomic<std::uint64_t>& count,
                       double parts = 1) {
    counters.push_back(
        {name, help, std::move(labels), static_cast<double>(count.load(std::memory_order_relaxed)) / parts});
  };
  for (std::size_t i = 0; i < purpose_names.size(); ++i) {
    constexpr const char* name = "weir_store_capacity_units_total";
    constexpr const char* help =
        "Capacity units of DynamoDB, by what for. Conditions that did not hold are counted as one unit each.";
    const Counts::Units& spent = context_.counts.spent[i];
    add(name, help, {{"purpose", purpose_names[i]}, {"unit", "read"}}, spent.read, 1000);
    add(name, help, {{"purpose", purpose_names[i]}, {"unit", "write"}}, spent.written, 1000);
  }
  const Counts& counts = context_.counts;
  add("weir_store_first_writes_total", "First writes of decisions.", {}, counts.first_writes);
  add("weir_store_first_writes_failed_total", "First writes whose condition did not hold.", {},
      counts.failed_first_writes);
  add("weir_store_refused_from_memory_total", "Refusals without asking the store.", {},
      counts.refused_from_memory);
  const aws::DynamoCounts& sent = client_->counts();
  add("weir_store_requests_total", "Requests that were sent to DynamoDB.", {}, sent.requests);
  add("weir_store_throttled_total", "Requests that DynamoDB found to be too many.", {}, sent.throttled);
  counters.push_back(context_.bad.counter());
  return counters;
}

}  // namespace weir::dynamodb
