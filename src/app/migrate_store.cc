#include "app/migrate_store.h"

#include <filesystem>

#include "app/url.h"
#include "base/text.h"
#include "store/dynamodb/migrate.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_store.h"

namespace weir::app {

namespace {

/// Opening a file migrates it.
Result<MigrationReport> migrate_file(const std::string& path, bool dry_run) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown))
    return base::error(ErrorCode::not_found, path, ": there is no such file; check the path");
  bool current = false;
  {
    auto database = sqlite::Database::open(path, sqlite::Access::read);
    if (!database) return database.error();
    auto checked = sqlite::check_version(**database);
    if (!checked) return checked.error();
    current = *checked;
  }
  MigrationReport report;
  report.state = current || !dry_run ? dynamodb::migration::done : dynamodb::migration::pending;
  if (dry_run || current) return report;
  base::SystemEntropy entropy;
  const sqlite::OpenOptions options{
      .clock = std::make_shared<SystemClock>(), .wait_for_file = std::chrono::seconds(2), .create = false};
  if (auto opened = sqlite::SqliteStore::open(path, options, entropy); !opened) return opened.error();
  return report;
}

}  // namespace

Result<MigrationReport> migrate_store(std::string_view url, const MigrationOptions& options) {
  auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  if (parsed->kind == StoreKind::sqlite) return migrate_file(parsed->path, options.dry_run);
  if (parsed->kind != StoreKind::dynamodb)
    return base::invalid(
        "only sqlite:PATH and dynamodb://TABLE have something to migrate; other stores are as they should "
        "be");
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
