// What DynamoDB answers, read without a socket: items, what could not be done, and what can be known of a
// request that failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/clock.h"
#include "wire/attribute_value.h"

namespace weir::aws {

using wire::aws::Item;
using wire::aws::Value;

/// The parts of an answer that any operation may have.
struct DynamoAnswer {
  std::optional<Item> item = {};       ///< Item, or Attributes
  std::vector<Item> items = {};        ///< Items, or all Responses
  std::vector<Item> unprocessed = {};  ///< keys of a BatchGetItem that were not looked up
  bool unprocessed_writes = false;     ///< some of a BatchWriteItem were not carried out
  Item last_key = {};                  ///< where a Query or Scan goes on; empty at its end
  std::int64_t consumed = 0;           ///< capacity units, in thousandths, of all tables
  std::string_view body = {};          ///< everything, as it came; valid during the callback
};

/// Reads a body. Nothing if it is not what DynamoDB answers with.
std::optional<DynamoAnswer> read_answer(std::string_view body);

/// One item of a transaction that was cancelled.
struct CancellationReason {
  std::string code = {};  ///< "None" where this item was not the reason
  std::optional<Item> item = {};
};

/// Why a request did not succeed, by what can be done about it.
struct DynamoFailure {
  enum class Kind : std::uint8_t {
    condition,    ///< a condition did not hold; nothing was written
    conflict,     ///< another transaction was in the way; nothing was written, and the same will do later
    throttled,    ///< too much at once; nothing was written
    not_found,    ///< no such table or index
    exists,       ///< the table exists already, or is being changed
    invalid,      ///< a mistake in the request; nothing was written
    denied,       ///< the credentials are not accepted, or not for this
    skewed,       ///< signed with a time that is not the server's
    unavailable,  ///< it was not reached; nothing was written
    not_open,     ///< it was not asked, since a table was not opened yet; the message says all
    unknown,      ///< it may have been carried out, or may still be
  };
  Kind kind = Kind::unavailable;
  std::string code = {};                         ///< as DynamoDB calls it
  std::string message = {};                      ///< as DynamoDB, or the connection, says it
  std::optional<Item> item = {};                 ///< condition: the item as it is, where it exists
  std::vector<CancellationReason> reasons = {};  ///< of a transaction, by its items
  bool nothing_written() const { return kind != Kind::unknown; }
};

/// What an error answer means.
DynamoFailure read_failure(int status, std::string_view body);

/// "Sun, 06 Nov 1994 08:49:37 GMT"; nothing if it is not one.
std::optional<Time> parse_http_date(std::string_view text);

/// How far the server's clock is ahead of ours at least, given what its Date said in an answer to a request
/// that left at `sent` and came back at `received`. Date has whole seconds, and somewhere between the two it
/// was true; 0 where the clocks may agree.
Time least_skew(Time date, Time sent, Time received);

}  // namespace weir::aws
