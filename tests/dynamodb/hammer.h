// Several processes with several clients each on one table.
#pragma once

#include <cstdio>
#include <functional>

#include "base/text.h"
#include "dynamodb/table.h"

namespace weir::dynamodb {

/// What the clients of all processes have been told.
struct Sum {
  long charged = 0;     ///< by acquires, and by adjusts on top of them
  long given_back = 0;  ///< by adjusts
  long refused = 0;
  long contended = 0;
  long failed = 0;
  long admitted() const { return charged - given_back; }
};

/// Runs weir_dynamodb_worker so many times at once, with `words` after the URL, and does something meanwhile.
inline Sum hammer(const std::string& url, int processes, const std::string& words,
                  const std::function<void()>& meanwhile) {
  const std::string command = base::join(WEIR_DYNAMODB_WORKER, " '", url, "' ", words);
  std::vector<FILE*> pipes;
  pipes.reserve(static_cast<std::size_t>(processes));
  for (int i = 0; i < processes; ++i) pipes.push_back(::popen(command.c_str(), "r"));
  meanwhile();
  Sum sum;
  for (FILE* const pipe : pipes) {
    Sum one;
    EXPECT_EQ(std::fscanf(pipe, "%ld %ld %ld %ld %ld", &one.charged, &one.given_back, &one.refused,
                          &one.contended, &one.failed),
              5);
    EXPECT_EQ(::pclose(pipe), 0);
    sum.charged += one.charged;
    sum.given_back += one.given_back;
    sum.refused += one.refused;
    sum.contended += one.contended;
    sum.failed += one.failed;
  }
  std::printf("%ld charged, %ld given back, %ld refused, %ld contended\n", sum.charged, sum.given_back,
              sum.refused, sum.contended);
  EXPECT_EQ(sum.failed, 0);
  EXPECT_GT(sum.admitted(), 0);
  return sum;
}

}  // namespace weir::dynamodb
