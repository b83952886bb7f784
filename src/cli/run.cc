#include "cli/run.h"

#include <ostream>

#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/words.h"
#include "weir/version.h"

namespace weir::cli {
namespace {

using base::join;

/// Errors respect --color even if the rest of the command line could not be parsed.
Color color_of(const Common& common) {
  if (common.color == "always") return Color::always;
  return common.color == "never" ? Color::never : Color::automatic;
}

/// Each line of a message is printed as a message of its own.
void complain(const World& world, const Wish& wish, std::string_view message) {
  const Style style(use_color(color_of(wish.arguments.common), world.err_is_terminal, world.environment));
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    world.err << style(Tone::bad, "weir:") << ' ' << printable(message.substr(0, end)) << '\n';
    message.remove_prefix(std::min(end + 1, message.size()));
  }
}

int complain_of_misuse(const World& world, const Wish& wish, std::string_view problem) {
  complain(world, wish, problem);
  world.err << "Try: " << wish.topic << " --help\n";
  return misuse;
}

/// The command that helps with an error, which the library does not know.
std::string advice(const Error& error) {
  switch (error.code) {
    case ErrorCode::no_limits:
      return "Set some, such as: weir limits set --system -l rpm:100/min\n";
    case ErrorCode::unknown_limit:
      return "See which limits hold: weir limits effective ENTITY RESOURCE\n";
    default:
      return {};
  }
}

int run_command(World& world, const Wish& wish, const CommandShape& commands) {
  auto session = Session::make(world, wish.arguments.common, commands, wish.reach, wish.csv);
  if (!session) return complain_of_misuse(world, wish, session.error().message);
  const Result<ExitCode> ended = wish.command(*session, wish.arguments);
  if (ended) return *ended;
  // An invalid argument is a mistake on the command line; all other errors are failures.
  if (ended.error().code == ErrorCode::invalid_argument)
    return complain_of_misuse(world, wish, ended.error().message);
  complain(world, wish, ended.error().message);
  if (ended.error().code == ErrorCode::not_found || ended.error().code == ErrorCode::no_limits)
    session->note_empty_namespace();
  world.err << advice(ended.error());
  return failure;
}

}  // namespace

int run(const std::vector<std::string>& words, World& world) {
  CommandLine line;
  if (words.empty()) {
    world.out << help_text(line.shape());
    return done;
  }
  const Wish wish = line.read(words);
  switch (wish.kind) {
    case Wish::Kind::help:
      world.out << help_text(*find_command(line.shape(), wish.topic));
      return done;
    case Wish::Kind::version:
      world.out << join("weir ", std::to_string(WEIR_VERSION_MAJOR), ".", std::to_string(WEIR_VERSION_MINOR),
                        ".", std::to_string(WEIR_VERSION_PATCH), "\n");
      return done;
    case Wish::Kind::misuse:
      return complain_of_misuse(world, wish, wish.problem);
    default:
      return run_command(world, wish, line.shape());
  }
}

Result<ExitCode> help(Session& session, const Arguments& arguments) {
  const CommandShape* command = &session.commands();
  for (const std::string& word : arguments.topic) {
    const CommandShape* inner = find_command(*command, join(command->path, " ", word));
    if (inner == nullptr) {
      std::vector<std::string_view> names;
      for (const CommandShape& other : command->commands) names.emplace_back(other.name);
      return base::invalid("there is no command ", base::quoted(join(command->path, " ", word).substr(5)),
                           base::did_you_mean(word, names));
    }
    command = inner;
  }
  session.out() << help_text(*command);
  return done;
}

}  // namespace weir::cli
