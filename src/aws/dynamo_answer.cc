#include "aws/dynamo_answer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "aws/credentials_source.h"
#include "base/text.h"
#include "wire/json_reader.h"

namespace weir::aws {
namespace {

using wire::json::Reader;
using Kind = DynamoFailure::Kind;

bool read_items(Reader& reader, std::vector<Item>& items) {
  for (reader.array(); reader.element();) {
    if (!wire::aws::read(reader, items.emplace_back())) return false;
  }
  return !reader.failed();
}

/// {"table":[{...}]} of BatchGetItem, or [{"Item":{...}}] of TransactGetItems.
bool read_responses(Reader& reader, std::vector<Item>& items) {
  std::string name;
  if (reader.peek() == Reader::Kind::object) {
    for (reader.object(); reader.member(name);) {
      if (!read_items(reader, items)) return false;
    }
    return !reader.failed();
  }
  for (reader.array(); reader.element();) {
    Item& item = items.emplace_back();
    for (reader.object(); reader.member(name);) {
      if (!(name == "Item" ? wire::aws::read(reader, item) : reader.skip())) return false;
    }
  }
  return !reader.failed();
}

/// {"table":{"Keys":[{...}]}}.
bool read_unprocessed(Reader& reader, std::vector<Item>& keys) {
  std::string name;
  for (reader.object(); reader.member(name);) {
    std::string part;
    for (reader.object(); reader.member(part);) {
      if (!(part == "Keys" ? read_items(reader, keys) : reader.skip())) return false;
    }
  }
  return !reader.failed();
}

/// "1.5" as 1500.
std::int64_t thousandths(std::string_view number) {
  double units = 0;
  std::from_chars(number.data(), number.data() + number.size(), units);
  return units > 0 && units < 1e12 ? std::int64_t{std::llround(units * 1000)} : 0;
}

/// {"CapacityUnits":1.0,...}, or a list of them.
bool read_consumed(Reader& reader, std::int64_t& consumed) {
  std::string name;
  if (reader.peek() == Reader::Kind::array) {
    for (reader.array(); reader.element();) {
      if (!read_consumed(reader, consumed)) return false;
    }
    return !reader.failed();
  }
  for (reader.object(); reader.member(name);) {
    std::string_view number;
    if (name != "CapacityUnits") {
      if (!reader.skip()) return false;
    } else if (!reader.number(number)) {
      return false;
    }
    consumed += thousandths(number);
  }
  return !reader.failed();
}

bool read_member(Reader& reader, const std::string& name, DynamoAnswer& answer) {
  if (name == "Item" || name == "Attributes") return wire::aws::read(reader, answer.item.emplace());
  if (name == "Items") return read_items(reader, answer.items);
  if (name == "Responses") return read_responses(reader, answer.items);
  if (name == "UnprocessedKeys") return read_unprocessed(reader, answer.unprocessed);
  if (name == "LastEvaluatedKey") return wire::aws::read(reader, answer.last_key);
  if (name == "ConsumedCapacity") return read_consumed(reader, answer.consumed);
  if (name != "UnprocessedItems") return reader.skip();
  std::string table;
  for (reader.object(); reader.member(table);) {
    answer.unprocessed_writes = true;
    reader.skip();
  }
  return !reader.failed();
}

bool read_reasons(Reader& reader, std::vector<CancellationReason>& reasons) {
  for (reader.array(); reader.element();) {
    CancellationReason& reason = reasons.emplace_back();
    std::string name;
    for (reader.object(); reader.member(name);) {
      const bool read = name == "Code"   ? reader.string(reason.code)
                        : name == "Item" ? wire::aws::read(reader, reason.item.emplace())
                                         : reader.skip();
      if (!read) return false;
    }
  }
  return !reader.failed();
}

struct Meaning {
  std::string_view code;
  Kind kind;
};
constexpr std::array meanings = {
    Meaning{"ConditionalCheckFailedException", Kind::condition},
    Meaning{"TransactionConflictException", Kind::conflict},
    Meaning{"TransactionInProgressException", Kind::conflict},
    Meaning{"ReplicatedWriteConflictException", Kind::conflict},
    Meaning{"ProvisionedThroughputExceededException", Kind::throttled},
    Meaning{"ThrottlingException", Kind::throttled},
    Meaning{"RequestLimitExceeded", Kind::throttled},
    Meaning{"LimitExceededException", Kind::throttled},
    Meaning{"ResourceNotFoundException", Kind::not_found},
    Meaning{"TableNotFoundException", Kind::not_found},
    Meaning{"ResourceInUseException", Kind::exists},
    Meaning{"AccessDeniedException", Kind::denied},
    Meaning{"UnrecognizedClientException", Kind::denied},
    Meaning{"MissingAuthenticationTokenException", Kind::denied},
    Meaning{"ExpiredTokenException", Kind::denied},
    Meaning{"ExpiredToken", Kind::denied},
    Meaning{"IncompleteSignatureException", Kind::denied},
    Meaning{"InvalidSignatureException", Kind::denied},
    Meaning{"RequestTimeTooSkewed", Kind::skewed},
    Meaning{"RequestExpired", Kind::skewed},
    Meaning{"InternalServerError", Kind::unknown},
    Meaning{"InternalFailure", Kind::unknown},
    Meaning{"ServiceUnavailable", Kind::unknown},
};

Kind kind_of(const std::string& code, const std::string& message, int status) {
  // The signature is valid, but its time is too early or too late.
  if (code == "InvalidSignatureException" && (message.find("Signature expired") != std::string::npos ||
                                              message.find("Signature not yet current") != std::string::npos))
    return Kind::skewed;
  for (const Meaning& meaning : meanings) {
    if (meaning.code == code) return meaning.kind;
  }
  if (status == 429) return Kind::throttled;
  // DynamoDB, or a proxy before it, does not know the outcome.
  return status >= 500 ? Kind::unknown : Kind::invalid;
}

/// The kind of a transaction follows from its reasons: permanent ones win over those that a retry can
/// resolve.
Kind kind_of(const std::vector<CancellationReason>& reasons) {
  const auto has = [&](std::string_view code) {
    return std::any_of(reasons.begin(), reasons.end(),
                       [&](const auto& reason) { return reason.code == code; });
  };
  for (const CancellationReason& reason : reasons) {
    if (reason.code != "None" && reason.code != "ConditionalCheckFailed" &&
        reason.code != "TransactionConflict" && reason.code != "ThrottlingError" &&
        reason.code != "ProvisionedThroughputExceeded")
      return Kind::invalid;
  }
  if (has("ConditionalCheckFailed")) return Kind::condition;
  return has("TransactionConflict") ? Kind::conflict : Kind::throttled;
}

}  // namespace

std::optional<DynamoAnswer> read_answer(std::string_view body) {
  DynamoAnswer answer;
  Reader reader(body);
  std::string name;
  for (reader.object(); reader.member(name);) {
    if (!read_member(reader, name, answer)) return std::nullopt;
  }
  if (!reader.end()) return std::nullopt;
  answer.body = body;
  return answer;
}

DynamoFailure read_failure(int status, std::string_view body) {
  DynamoFailure failure;
  Reader reader(body);
  std::string name;
  bool well = true;
  for (reader.object(); well && reader.member(name);) {
    if (name == "__type") {
      well = reader.string(failure.code);
    } else if (name == "message" || name == "Message") {
      well = reader.peek() == Reader::Kind::string ? reader.string(failure.message) : reader.skip();
    } else if (name == "Item") {
      well = wire::aws::read(reader, failure.item.emplace());
    } else if (name == "CancellationReasons") {
      well = read_reasons(reader, failure.reasons);
    } else {
      well = reader.skip();
    }
  }
  well = well && reader.end();
  failure.code.erase(0, failure.code.find('#') + 1);
  if (!well || failure.code.empty()) {
    // Perhaps an answer of a proxy. It is a refusal, unless the proxy lost the server behind it.
    const Kind kind = status == 429 ? Kind::throttled : status >= 500 ? Kind::unknown : Kind::invalid;
    return {.kind = kind, .message = base::join("status ", std::to_string(status))};
  }
  failure.kind = failure.code == "TransactionCanceledException"
                     ? kind_of(failure.reasons)
                     : kind_of(failure.code, failure.message, status);
  return failure;
}

std::optional<Time> parse_http_date(std::string_view text) {
  // Sun, 06 Nov 1994 08:49:37 GMT
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != 29 || text[3] != ',' || !text.ends_with(" GMT")) return std::nullopt;
  const std::size_t month = months.find(text.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  const std::string number = std::to_string(month / 3 + 1);
  return parse_moment(base::join(text.substr(12, 4), "-", number.size() == 1 ? "0" : "", number, "-",
                                 text.substr(5, 2), "T", text.substr(17, 8), "Z"));
}

Time least_skew(Time date, Time sent, Time received) {
  // The server took `date` between the two, truncated by up to a second.
  const Time low = date - received;
  const Time high = date + 999 - sent;
  if (low > 0) return low;
  return high < 0 ? high : 0;
}

}  // namespace weir::aws
