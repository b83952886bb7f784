#include "app/migrate_store.h"

#include "app/url.h"
#include "base/text.h"

namespace weir::app {

Result<MigrationReport> migrate_store(std::string_view url, const MigrationOptions& options) {
  auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  if (parsed->kind != StoreKind::dynamodb)
    return base::invalid(
        "only dynamodb://TABLE has something to migrate; other stores are as they should be");
  const SystemClock system;
  base::SystemEntropy entropy;
  if (!options.dry_run) {
    if (auto opened = dynamodb::DynamoStore::open(parsed->dynamodb); !opened) return opened.error();
  }
  auto client = dynamodb::connect(parsed->dynamodb, system, entropy);
  if (!client) return client.error();
  return dynamodb::migrate(**client, parsed->dynamodb.table, system, entropy, options);
}

}  // namespace weir::app
