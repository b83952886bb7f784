// One run of one command: its world, the common options, and its target.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/destination.h"
#include "cli/shape.h"
#include "cli/style.h"
#include "cli/world.h"
#include "client/target.h"
#include "weir/limiter.h"

namespace weir::cli {

/// The exit codes of the program.
enum ExitCode : int { done = 0, failure = 1, misuse = 2, refused = 3, changes = 4 };

enum class Format { table, json, csv };

class Session {
 public:
  /// Reads the common options, else the environment, else defaults. `csv`: whether the command can print it.
  static Result<Session> make(World& world, const Common& common, const CommandShape& commands, Reach reach,
                              bool csv);

  std::ostream& out() const { return world_->out; }
  bool json() const { return format_ == Format::json; }
  /// Only of commands whose notes say so.
  bool csv() const { return format_ == Format::csv; }
  const Style& style() const { return style_; }
  World& world() const { return *world_; }
  Time now() const { return world_->clock.now(); }
  const CommandShape& commands() const { return *commands_; }

  const std::string& store() const { return place_.store; }
  /// The store or the service, and the namespace in it, for messages.
  std::string place() const;
  /// The options for opening the store. Changes have an effect until it is opened.
  Options& options() { return options_; }
  /// Whether a namespace was given, so that it is not the default by omission.
  bool namespace_was_said() const { return namespace_was_said_; }
  /// Sets the namespace of a file, before the target is used.
  void choose_namespace(const std::string& name);

  /// The store, which is created if it does not exist, or the service. Valid as long as the session.
  client::Target& target();
  /// The same, but an error if the store does not exist.
  client::Target& existing();

  /// The URL of the service; null if the command opens a store.
  const client::ServerUrl* server() const { return place_.server ? &place_.server->url : nullptr; }
  /// A connection of its own to the service. Requires server().
  std::unique_ptr<client::Target> another_target() const;

  /// Closes a file that only one process can have open, until the target is used again.
  void release_file();

  /// Warns that a change is lost when the command ends, if the store is memory.
  void warn_if_forgotten() const;
  /// For a command that found nothing: notes that the namespace is empty, and which ones are not, as far as
  /// the store can tell.
  void note_empty_namespace() const;

  /// Prints one document.
  void print_json(std::string_view json) const { out() << json << '\n'; }
  /// Prints names and values in two columns, without empty values.
  void print_fields(const std::vector<std::pair<std::string, std::string>>& fields) const;
  /// Prints `weir: warning: ...` to stderr.
  void warn(std::string_view text) const;
  /// Prints a note to stderr.
  void note(std::string_view text) const;

 private:
  explicit Session(World& world) : world_(&world) {}

  World* world_;
  const CommandShape* commands_ = nullptr;
  Destination place_;
  Options options_;
  bool namespace_was_said_ = false;
  Format format_ = Format::table;
  Style style_{false};
  Style side_style_{false};
  std::unique_ptr<client::Target> target_;
};

/// Prints a list that may be long as one JSON document, an element at a time: {"items":[...]}. Nothing is
/// printed before the first element or the end, so that a failure before them leaves the output empty.
class JsonList {
 public:
  JsonList(std::ostream& out, std::string_view name) : out_(out), name_(name) {}
  void add(std::string_view json);
  void end();

 private:
  std::ostream& out_;
  std::string name_;
  bool begun_ = false;
};

/// Calls `visit` with every item of a listing, page after page. `page` gets the paging and returns a
/// Result<Page<T>>; `most` bounds the number of items.
template <class PageOf, class Visit>
Result<void> for_each_item(PageOf page, Visit visit, std::size_t most = static_cast<std::size_t>(-1)) {
  Paging paging;
  while (most > 0) {
    paging.limit = std::min<std::size_t>(most, 1000);
    auto items = page(paging);
    if (!items) return items.error();
    for (const auto& item : items->items) visit(item);
    most -= items->items.size();
    if (items->next.empty()) break;
    paging.cursor = items->next;
  }
  return {};
}

}  // namespace weir::cli
