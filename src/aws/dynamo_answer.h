// Parses the answers of DynamoDB, without a socket: items, unprocessed parts, and the meaning of errors.
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
  Item last_key = {};                  ///< where a Query or Scan continues; empty at its end
  std::int64_t consumed = 0;           ///< capacity units, in thousandths, of all tables
  std::string_view body = {};          ///< the raw answer; valid during the callback
};

/// Parses a body. Nothing if it is not an answer of DynamoDB.
std::optional<DynamoAnswer> read_answer(std::string_view body);

/// One item of a transaction that was cancelled.
struct CancellationReason {
  std::string code = {};  ///< "None" where this item was not the reason
  std::optional<Item> item = {};
};

/// Why a request failed, by the possible reaction.
struct DynamoFailure {
  enum class Kind : std::uint8_t {
    condition,    ///< a condition did not hold; nothing was written
    conflict,     ///< another transaction was in progress; nothing was written, and a retry can succeed
    throttled,    ///< too many requests; nothing was written
    not_found,    ///< no such table or index
    exists,       ///< the table exists already, or is being changed
    invalid,      ///< a mistake in the request; nothing was written
    denied,       ///< the credentials are invalid, or lack the permission
    skewed,       ///< the time of the signature is too far from the server's
    unavailable,  ///< the server was not reached; nothing was written
    not_open,     ///< not sent, since a table is not open yet; the message has the details
    unknown,      ///< the request may have been carried out, or may still be
  };
  Kind kind = Kind::unavailable;
  std::string code = {};                         ///< the error code of DynamoDB
  std::string message = {};                      ///< of DynamoDB, or of the connection
  std::optional<Item> item = {};                 ///< condition: the stored item, if it exists
  std::vector<CancellationReason> reasons = {};  ///< of a transaction, by its items
  bool nothing_written() const { return kind != Kind::unknown; }
};

/// Parses an error answer.
DynamoFailure read_failure(int status, std::string_view body);

/// "Sun, 06 Nov 1994 08:49:37 GMT"; nothing if it is malformed.
std::optional<Time> parse_http_date(std::string_view text);

/// The least skew by which the server's clock is ahead of the local one, given the Date of an answer to a
/// request sent at `sent` and answered at `received`. Date has whole seconds and was taken between the two; 0
/// if the clocks may agree.
Time least_skew(Time date, Time sent, Time received);

}  // namespace weir::aws
