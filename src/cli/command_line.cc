#include "cli/command_line.h"

#include <algorithm>

#include "app/store_url.h"
#include "base/text.h"
#include "cli/tree.h"

namespace weir::cli {
namespace {

using base::join;

/// The named command, as far as it was recognized.
const CLI::App* named_command(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string path_of(const CLI::App* app) {
  return app->get_parent() == nullptr ? app->get_name()
                                      : join(path_of(app->get_parent()), " ", app->get_name());
}

/// The name of a command in messages, which begin with "weir:" already.
std::string called(const CommandShape& shape) {
  return shape.path == shape.name ? shape.path : shape.path.substr(shape.path.find(' ') + 1);
}

/// The first unknown word, and the command that it was given to.
struct Stray {
  std::string word;
  const CLI::App* app = nullptr;
};

Stray find_stray(const CLI::App& root) {
  for (const CLI::App* app = &root;; app = app->get_subcommands().front()) {
    for (const std::string& word : app->remaining(false)) {
      if (word != "--") return {word, app};
    }
    if (app->get_subcommands().empty()) return {};
  }
}

std::string guess(const std::string& word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return base::did_you_mean(word, views);
}

std::vector<std::string> names_of_commands(const CommandShape& shape) {
  std::vector<std::string> names;
  for (const CommandShape& command : shape.commands) names.push_back(command.name);
  return names;
}

/// How a word that stands alone was probably meant: as the value of an option.
std::string option_for(const std::string& word, const CommandShape& shape) {
  const auto has = [&](std::string_view name) {
    return std::any_of(shape.options.begin(), shape.options.end(), [&](const OptionShape& option) {
      return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
    });
  };
  const bool is_limit = word.find(':') != std::string::npos && has("-l");
  const bool is_charge = word.find('=') != std::string::npos && has("-c");
  const std::string_view option = is_limit ? "-l" : is_charge ? "-c" : has("--config") ? "--config" : "";
  return option.empty() ? "quote what has spaces in it"
                        : join("did you mean ", option, " ", base::quoted(word), "?");
}

std::string describe_stray(Stray stray, const CommandShape& shape) {
  // Perhaps the URL of a store, whose option was forgotten.
  const std::size_t at = stray.word.rfind('@');
  const bool has_password = at != std::string::npos && stray.word.find(':') < at;
  if (has_password || stray.word.find("://") != std::string::npos)
    stray.word = app::without_password(stray.word);
  if (stray.word.starts_with('-') && stray.word != "-") {
    std::vector<std::string> names;
    for (const OptionShape& option : shape.options) {
      names.insert(names.end(), option.names.begin(), option.names.end());
    }
    const std::string word = stray.word.substr(0, stray.word.find('='));
    if (std::find(names.begin(), names.end(), word) != names.end())
      return join("everything after -- is an argument; put ", word, " before it");
    const bool is_port = word == "--port" && std::find(names.begin(), names.end(), "--listen") != names.end();
    return join(called(shape), " does not know ", word,
                is_port ? "; write --listen HOST:PORT" : guess(word, names));
  }
  if (!shape.commands.empty()) {
    const std::string path = shape.path == shape.name ? stray.word : join(called(shape), " ", stray.word);
    if (path == "version") return "there is no command \"version\"; write weir --version";
    return join("there is no command ", base::quoted(path), guess(stray.word, names_of_commands(shape)));
  }
  return join(called(shape), " does not expect ", base::quoted(stray.word), "; ",
              option_for(stray.word, shape));
}

/// Names the missing part: a command of a group, an argument or an option of a command.
std::string describe_missing(const CLI::App& app, const CommandShape& shape, const std::string& complaint) {
  if (!shape.commands.empty()) {
    std::string all;
    for (const std::string& name : names_of_commands(shape)) all += join(all.empty() ? "" : ", ", name);
    return join(called(shape), " needs a command: ", all);
  }
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    if (option->get_positional()) return join(called(shape), " needs ", option->get_name(true));
    const std::string name = option->get_snames().empty() ? "--" + option->get_lnames().front()
                                                          : "-" + option->get_snames().front();
    return join(called(shape), " needs ", name, " ", option->get_type_name());
  }
  return complaint;
}

/// Describes an option without its value, or one that is given too often.
std::string describe_mismatch(const CLI::App& app, const std::string& complaint) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (name.empty() || complaint.find(name) == std::string::npos) continue;
    if (option->count() > 1) return join(name, " is given more than once");
    return join(name, " needs a value: ", option->get_type_name());
  }
  return complaint;
}

/// CLI11 takes the next word for the value of "--name="; a separate empty word is an empty value.
std::vector<std::string> split_empty_values(const std::vector<std::string>& words) {
  std::vector<std::string> split;
  bool options = true;
  for (const std::string& word : words) {
    options = options && word != "--";
    if (options && word.starts_with("--") && word.ends_with('=')) {
      split.push_back(word.substr(0, word.size() - 1));
      split.emplace_back();
    } else {
      split.push_back(word);
    }
  }
  return split;
}

/// Options after the command win over those before it.
void merge(Common& common, const Common& before) {
  const auto fill = [](std::optional<std::string>& to, const std::optional<std::string>& from) {
    if (!to) to = from;
  };
  // A store and a service exclude each other.
  if (!common.store && !common.server) {
    common.store = before.store;
    common.server = before.server;
  }
  fill(common.token_file, before.token_file);
  fill(common.ca_file, before.ca_file);
  fill(common.timeout, before.timeout);
  fill(common.name_space, before.name_space);
  fill(common.output, before.output);
  fill(common.color, before.color);
  fill(common.principal, before.principal);
}

}  // namespace

CommandLine::CommandLine() : tree_(std::make_unique<Tree>()), shape_(shape_of(*tree_, tree_->root, "")) {}
CommandLine::~CommandLine() = default;

Wish CommandLine::read(const std::vector<std::string>& words) {
  Wish wish;
  std::vector<std::string> reversed = split_empty_values(words);
  std::reverse(reversed.begin(), reversed.end());  // the order that CLI11 expects
  CLI::App& root = tree_->root;
  std::string complaint;
  bool mismatch = false;
  try {
    root.parse(std::move(reversed));
    wish.kind = Wish::Kind::run;
  } catch (const CLI::CallForHelp&) {
    wish.kind = Wish::Kind::help;
  } catch (const CLI::CallForVersion&) {
    wish.kind = Wish::Kind::version;
  } catch (const CLI::ArgumentMismatch& error) {
    complaint = error.what();
    mismatch = true;
  } catch (const CLI::ParseError& error) {
    complaint = error.what();
  }
  const CLI::App* app = named_command(root);
  wish.topic = path_of(app);
  if (wish.kind == Wish::Kind::misuse) {
    // A mistyped word is the likely cause of other missing parts, so it is reported first.
    if (mismatch) {
      wish.problem = describe_mismatch(*app, complaint);
    } else if (const Stray stray = find_stray(root); stray.app != nullptr) {
      wish.problem = describe_stray(stray, *find_command(shape_, path_of(stray.app)));
    } else {
      wish.problem = describe_missing(*app, *find_command(shape_, wish.topic), complaint);
    }
    return wish;
  }
  wish.command = tree_->chosen;
  wish.reach = tree_->reach;
  wish.csv = tree_->csv;
  wish.arguments = tree_->arguments;
  merge(wish.arguments.common, tree_->before);
  return wish;
}

const CommandShape* find_command(const CommandShape& root, const std::string& path) {
  if (root.path == path) return &root;
  for (const CommandShape& command : root.commands) {
    if (const CommandShape* found = find_command(command, path)) return found;
  }
  return nullptr;
}

}  // namespace weir::cli
