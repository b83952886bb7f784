// Converts between our types and the texts in the file. Times are milliseconds, amounts inside JSON are
// millitokens except in limits, which are in the long form of the API.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "decision/lease.h"
#include "limits/limit_set.h"
#include "limits/record.h"
#include "store/sqlite/database.h"
#include "store/table/backing.h"
#include "weir/entity.h"

namespace weir::sqlite {

/// `{"rpm":{"capacity":100,...}}`.
std::string to_json(const limits::LimitSet& set);
/// Bit i: the i-th limit of a bucket's set is not in force.
using Dormant = std::uint32_t;
/// `{"rpm":[85000,15000]}`: tokens and consumed, and a third element 1 where the limit is dormant. A
/// concurrent limit has four: `{"calls":[8000,0,0,[1700000075000,2000]]}`, the last of which are deadlines,
/// each followed by the amount that is held until then. So has a rate limit with grants, whose deadlines are
/// their ends. Appends. `holds`: of the record.
void append_balances(std::string& text, const limits::LimitSet& set, std::span<const table::Balance> balances,
                     Dormant dormant, std::string_view holds);
/// Fills the balances, and appends the holds as a record has them. Nothing if the text does not have exactly
/// the limits of the set, in order, or if the numbers cannot be used.
std::optional<Dormant> read_balances(std::string_view text, const limits::LimitSet& set,
                                     std::span<table::Balance> balances, std::string& holds);

/// Appends a member of `{"rpm":1000}`, what a segment of usage has counted in millitokens, behind `{` and
/// other members; nothing where the amount is 0.
void append_amount(std::string& text, std::string_view limit, std::int64_t amount);
/// Nothing if the text is not of that form, names a limit twice, or has an amount of 0.
std::optional<std::vector<usage::Used>> read_amounts(std::string_view text);

/// `[{"stamp":1,"gap":false,"limits":{"rpm":[capacity,burst,amount,period]}}]`, in millitokens: the limits of
/// merged versions may not be valid limits of the API.
std::string to_json(const std::vector<limits::Version>& versions);
std::string to_json(const std::map<std::string, std::string>& metadata);
/// `[["rpm",1000,3]]`: limit, millitokens, bits of the buckets in the chain, and, if it is concurrent in some
/// of them or took grants, the bits of those and three numbers for each use of a grant: bucket, end, amount.
std::string to_json(const std::vector<decision::LeaseAmount>& amounts);
std::string to_json(const std::vector<std::string>& texts);
/// `[["key-1",81985529216486895]]`: entity and generation, as the bucket has it.
std::string to_json(const std::vector<decision::LeaseBucket>& buckets);

const char* name_of(decision::Ending ending);

/// Reads what the functions above wrote, with SQLite's own JSON. Bound to a connection; not safe for
/// concurrent use.
class JsonDecoder {
 public:
  explicit JsonDecoder(Database& database);

  /// Equal texts give the same object.
  Result<limits::LimitSetRef> limit_set(std::string_view json);
  Result<std::vector<limits::Version>> versions(std::string_view json);
  Result<std::map<std::string, std::string>> metadata(std::string_view json);
  Result<std::vector<decision::LeaseAmount>> amounts(std::string_view json);
  Result<std::vector<std::string>> texts(std::string_view json);
  Result<std::vector<decision::LeaseBucket>> lease_buckets(std::string_view json);
  Result<decision::Ending> ending(std::string_view name) const;
  Error damaged(std::string_view what) const;

 private:
  Result<limits::LimitSetRef> raw_limit_set(std::string_view json);

  Database& database_;
  Statement members_;
  Statement raw_members_;
  Statement versions_;
  Statement amounts_;
  std::unordered_map<std::string, limits::LimitSetRef> sets_;
};

}  // namespace weir::sqlite
