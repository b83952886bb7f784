// The environment of the program, injected so that tests can replace it.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/check_store.h"
#include "app/copy_store.h"
#include "app/list_namespaces.h"
#include "app/make_store.h"
#include "app/measure_cost.h"
#include "app/migrate_store.h"
#include "base/entropy.h"
#include "cli/style.h"
#include "weir/clock.h"
#include "weir/limiter.h"
#include "weir/result.h"

namespace weir::cli {

struct World {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  Environment environment;
  const Clock& clock;
  /// The user who runs the program, for the audit.
  std::string login;
  std::function<Result<std::shared_ptr<Limiter>>(std::string_view url, const Options& options)> open;
  std::function<Result<std::vector<app::Finding>>(std::string_view url, const Options& options)> check;
  /// Waits between two looks of a command that goes on. False: the user has ended it.
  std::function<bool(std::chrono::milliseconds time)> wait = [](std::chrono::milliseconds) { return false; };
  /// How many lines the terminal of `out` has.
  std::function<std::size_t()> terminal_rows = [] { return std::size_t{24}; };
  std::shared_ptr<base::Entropy> entropy = std::make_shared<base::SystemEntropy>();
  /// Creates the table of a DynamoDB store; other stores are created when they are opened.
  std::function<Result<void>(std::string_view url, const std::function<void(const std::string&)>& say)> make =
      app::make_store;
  std::function<Result<app::MigrationReport>(std::string_view url, const app::MigrationOptions& options)>
      migrate = app::migrate_store;
  std::function<Result<app::CopyReport>(std::string_view from, std::string_view to,
                                        const app::CopyOptions& options)>
      copy = app::copy_store;
  std::function<Result<std::vector<app::CostLine>>(std::string_view url)> measure = app::measure_cost;
  std::function<Result<std::vector<std::string>>(std::string_view url)> namespaces = app::list_namespaces;
};

}  // namespace weir::cli
