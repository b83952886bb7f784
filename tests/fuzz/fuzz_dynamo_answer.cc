// Answers of DynamoDB, or of any server in its place. The first byte chooses the status.
#include <cstdlib>
#include <string_view>

#include "aws/dynamo_answer.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir::aws;
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const auto answer = read_answer(body); answer && answer->consumed < 0) std::abort();
  const DynamoFailure failure = read_failure(400 + data[0] % 200, body);
  // Only an answer that says so may be taken for a condition that did not hold.
  if (failure.kind == DynamoFailure::Kind::condition && failure.code.empty()) std::abort();
  parse_http_date(body);
  return 0;
}
