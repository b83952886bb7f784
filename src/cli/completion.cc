#include "cli/completion.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"

namespace weir::cli {
namespace {

using base::join;

void for_each_command(const CommandShape& root, const std::function<void(const CommandShape&)>& visit) {
  visit(root);
  for (const CommandShape& command : root.commands) for_each_command(command, visit);
}

std::string spaced(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += join(text.empty() ? "" : " ", word);
  return text;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

/// In single quotes, for bash, zsh and fish. Fish interprets a backslash in quotes; the texts of weir have
/// none.
std::string in_quotes(const std::string& text) { return join("'", replaced(text, "'", "'\\''"), "'"); }

/// The first sentence of a command's description.
std::string brief(const std::string& about) {
  std::string text = about.substr(0, about.find(". "));
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// ---- bash

/// The completion of a value: words, files, or nothing.
std::string bash_value(const std::string& value) {
  const auto choices = choices_of(value);
  if (!choices.empty()) return join("words=", in_quotes(spaced(choices)));
  return value == "FILE" ? "files=1" : ":";
}

std::string bash_case(const CommandShape& command) {
  std::vector<std::string> names, options, valued;
  std::string values;
  for (const CommandShape& inner : command.commands) names.push_back(inner.name);
  for (const OptionShape& option : command.options) {
    options.insert(options.end(), option.names.begin(), option.names.end());
    if (option.value.empty()) continue;
    valued.insert(valued.end(), option.names.begin(), option.names.end());
    std::string patterns;
    for (const std::string& name : option.names) patterns += join(patterns.empty() ? "" : "|", name);
    values += join("        ", patterns, ") ", bash_value(option.value), " ;;\n");
  }
  for (std::size_t i = 0; i < command.arguments.size(); ++i)
    values += join("        ", std::to_string(i), ") ", bash_value(command.arguments[i].value), " ;;\n");
  return join("    ", in_quotes(command.path), ")\n      commands=", in_quotes(spaced(names)),
              "\n      options=", in_quotes(spaced(options)),
              "\n      valued=", in_quotes(join(" ", spaced(valued), " ")), "\n      case $2 in\n", values,
              "      esac ;;\n");
}

constexpr const char* bash_head = R"(# bash completion for weir, printed by `weir completion bash`.

# _weir_describe COMMAND VALUE: what can follow. VALUE is an option, or the position of an argument.
_weir_describe() {
  commands='' options='' valued='' words='' files=''
  case $1 in
)";

constexpr const char* bash_tail = R"(  esac
}

_weir() {
  local commands options valued words files
  local path=weir position=0 expects='' only_arguments='' i word
  local current=${COMP_WORDS[COMP_CWORD]}
  _weir_describe "$path" ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == = ]]; then
      continue # bash takes --output=json apart
    elif [[ -n $expects ]]; then
      expects=''
    elif [[ -n $only_arguments ]]; then
      position=$((position + 1))
    elif [[ $word == -- ]]; then
      only_arguments=1
    elif [[ $valued == *" $word "* ]]; then
      expects=$word
    elif [[ $word == -* ]]; then
      continue
    elif [[ " $commands " == *" $word "* ]]; then
      path="$path $word"
      _weir_describe "$path" ''
    else
      position=$((position + 1))
    fi
  done
  [[ $current != = ]] || current=''
  COMPREPLY=()
  if [[ -n $expects ]]; then
    _weir_describe "$path" "$expects"
  elif [[ $current == -* && -z $only_arguments ]]; then
    words=$options
  else
    _weir_describe "$path" "$position"
    [[ -z $commands ]] || words=$commands
  fi
  if [[ -n $files ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  elif [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
}

complete -F _weir weir
)";

// ---- zsh

/// A text inside [brackets] of a specification for _arguments.
std::string zsh_about(const std::string& about) { return replaced(replaced(about, "[", "\\["), "]", "\\]"); }

/// ":message:action" for a value.
std::string zsh_value(const std::string& name, const std::string& value) {
  const auto choices = choices_of(value);
  std::string action;
  if (!choices.empty()) action = join("(", spaced(choices), ")");
  if (value == "FILE") action = "_files";
  return join(":", replaced(choices.empty() ? value : name, ":", "\\:"), ":", action);
}

std::string zsh_option(const OptionShape& option) {
  std::string text;
  const std::string about = join("[", zsh_about(option.about), "]");
  const std::string value = option.value.empty() ? "" : zsh_value(option.names.back(), option.value);
  const std::string others = option.repeatable ? "*" : join("(", spaced(option.names), ")");
  for (const std::string& name : option.names) {
    const std::string equals = !value.empty() && name.starts_with("--") ? "=" : "";
    text += join("    ", in_quotes(join(others, name, equals, about, value)), " \\\n");
  }
  return text;
}

std::string zsh_function_name(const CommandShape& command) {
  return join("_", replaced(command.path, " ", "_"));
}

std::string zsh_function(const CommandShape& command) {
  std::string text = join(zsh_function_name(command), "() {\n");
  if (!command.commands.empty()) text += "  local context state state_descr line\n  typeset -A opt_args\n";
  text += join("  _arguments ", command.commands.empty() ? "" : "-C ", "-s \\\n");
  for (const OptionShape& option : command.options) text += zsh_option(option);
  for (const OptionShape& argument : command.arguments) {
    const std::string place = argument.repeatable ? "*" : argument.required ? "" : ":";
    text += join("    ", in_quotes(join(place, zsh_value(argument.names.front(), argument.value))), " \\\n");
  }
  if (command.commands.empty()) return text + "    && return 0\n}\n\n";

  text +=
      "    '1: :->command' '*:: :->rest' && return 0\n  case $state in\n    command)\n      local -a "
      "commands=(\n";
  for (const CommandShape& inner : command.commands)
    text +=
        join("        ", in_quotes(join(inner.name, ":", replaced(brief(inner.about), ":", "\\:"))), "\n");
  text += join("      )\n      _describe command commands ;;\n    rest)\n      case $words[1] in\n");
  for (const CommandShape& inner : command.commands)
    text += join("        ", inner.name, ") ", zsh_function_name(inner), " ;;\n");
  return text + "      esac ;;\n  esac\n}\n\n";
}

// ---- fish

constexpr const char* fish_head = R"(# fish completion for weir, printed by `weir completion fish`.

# Whether the command typed so far is the one named.
function __weir_at
    set -l path weir
    set -l expects 0
    for word in (commandline -opc)[2..-1]
        if test $expects = 1
            set expects 0
        else if contains -- $word $__weir_valued
            set expects 1
        else if not string match -q -- '-*' $word; and contains -- "$path $word" $__weir_paths
            set path "$path $word"
        end
    end
    test "$path" = "$argv"
end

complete -c weir -f
)";

std::string fish_option(const CommandShape& command, const OptionShape& option) {
  std::string text = join("complete -c weir -n ", in_quotes(join("__weir_at ", command.path)));
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? join(" -l ", name.substr(2)) : join(" -s ", name.substr(1));
  if (const auto choices = choices_of(option.value); !choices.empty()) {
    text += join(" -x -a ", in_quotes(spaced(choices)));
  } else if (!option.value.empty()) {
    text += " -x";
  }
  return join(text, " -d ", in_quotes(option.about), "\n");
}

std::string fish_argument(const CommandShape& command, const OptionShape& argument) {
  const std::string head = join("complete -c weir -n ", in_quotes(join("__weir_at ", command.path)));
  if (argument.value == "FILE") return join(head, " -F\n");
  const auto choices = choices_of(argument.value);
  return choices.empty() ? "" : join(head, " -a ", in_quotes(spaced(choices)), "\n");
}

}  // namespace

std::string bash_completion(const CommandShape& root) {
  std::string text = bash_head;
  for_each_command(root, [&](const CommandShape& command) { text += bash_case(command); });
  return text + bash_tail;
}

std::string zsh_completion(const CommandShape& root) {
  std::string text = "#compdef weir\n# zsh completion for weir, printed by `weir completion zsh`.\n\n";
  for_each_command(root, [&](const CommandShape& command) { text += zsh_function(command); });
  // Called as a function of $fpath it completes; sourced, it only registers itself.
  return text + "if [ \"$funcstack[1]\" = _weir ]; then\n  _weir \"$@\"\nelse\n  compdef _weir weir\nfi\n";
}

std::string fish_completion(const CommandShape& root) {
  std::vector<std::string> paths, valued;
  std::string commands, options;
  for_each_command(root, [&](const CommandShape& command) {
    paths.push_back(in_quotes(command.path));
    for (const CommandShape& inner : command.commands) {
      commands += join("complete -c weir -n ", in_quotes(join("__weir_at ", command.path)), " -a ",
                       inner.name, " -d ", in_quotes(brief(inner.about)), "\n");
    }
    for (const OptionShape& option : command.options) {
      options += fish_option(command, option);
      if (!option.value.empty()) valued.insert(valued.end(), option.names.begin(), option.names.end());
    }
    for (const OptionShape& argument : command.arguments) options += fish_argument(command, argument);
  });
  std::sort(valued.begin(), valued.end());
  valued.erase(std::unique(valued.begin(), valued.end()), valued.end());
  return join(fish_head, "set -g __weir_paths ", spaced(paths), "\nset -g __weir_valued ", spaced(valued),
              "\n\n", commands, options);
}

Result<ExitCode> completion(Session& session, const Arguments& arguments) {
  constexpr std::string_view shells[] = {"bash", "zsh", "fish"};
  const auto shell = read_choice("SHELL", arguments.shell, shells);
  if (!shell) return shell.error();
  const CommandShape& root = session.commands();
  session.out() << (*shell == "bash"  ? bash_completion(root)
                    : *shell == "zsh" ? zsh_completion(root)
                                      : fish_completion(root));
  return done;
}

}  // namespace weir::cli
