#include "app/aggregate.h"

#include "app/url.h"
#include "base/text.h"
#include "store/dynamodb/aggregation.h"

namespace weir::app {

Result<std::unique_ptr<store::Aggregation>> aggregate(std::string_view url, const AggregateOptions& options) {
  auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  if (parsed->kind != StoreKind::dynamodb)
    return base::invalid(
        "only dynamodb://TABLE has a stream to count from; other stores count usage themselves");
  dynamodb::AggregationOptions counting;
  counting.store = parsed->dynamodb;
  counting.store.must_be_reachable = options.must_be_reachable;
  counting.worker.batch = options.batch.count();
  counting.report = options.report;
  auto started = dynamodb::Aggregation::start(std::move(counting));
  if (!started) return started.error();
  return std::unique_ptr<store::Aggregation>(*std::move(started));
}

}  // namespace weir::app
