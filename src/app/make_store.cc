#include "app/make_store.h"

#include "app/url.h"
#include "base/text.h"
#include "store/dynamodb/templates.h"

namespace weir::app {

Result<void> make_store(std::string_view url, const std::function<void(const std::string& what)>& say) {
  auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  if (parsed->kind != StoreKind::dynamodb) return {};
  const SystemClock system;
  base::SystemEntropy entropy;
  auto client = dynamodb::connect(parsed->dynamodb, system, entropy);
  if (!client) return client.error();
  return dynamodb::make_table(**client, parsed->dynamodb.table, say);
}

Result<std::string> store_template(std::string_view url, std::string_view kind) {
  auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  if (parsed->kind != StoreKind::dynamodb)
    return base::invalid("--template is for dynamodb://TABLE; other stores are made when they are opened");
  const dynamodb::StoreOptions& options = parsed->dynamodb;
  if (kind == "cloudformation") return dynamodb::cloudformation_template(options.table);
  if (kind == "terraform") return dynamodb::terraform_template(options.table);
  if (kind == "iam-aggregate") return dynamodb::aggregate_policy(options.table, options.region);
  return dynamodb::iam_policy(options.table, options.region, false);
}

}  // namespace weir::app
