#include <algorithm>

#include "base/text.h"
#include "cli/shape.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

using base::join;

/// "-c, --consume NAME=AMOUNT". Long names are aligned, with or without a short one.
std::string head_of(const OptionShape& option) {
  std::string text = option.names.front().starts_with("--") ? "    " : "";
  for (const std::string& name : option.names) text += join(name == option.names.front() ? "" : ", ", name);
  if (!option.value.empty()) text += join(" ", option.value);
  return text;
}

/// Breaks the text into lines of at most `width` columns, at spaces.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!lines.back().empty() && columns(lines.back()) + 1 + columns(word) > width) lines.emplace_back();
    lines.back() += join(lines.back().empty() ? "" : " ", word);
    at = end + 1;
  }
  return lines;
}

using Entries = std::vector<std::pair<std::string, std::string>>;

void add_section(std::string& text, const char* title, const Entries& entries) {
  constexpr std::size_t widest = 34, page = 100;
  if (entries.empty()) return;
  std::size_t width = 0;
  for (const auto& [head, about] : entries) {
    if (head.size() <= widest) width = std::max(width, head.size());
  }
  text += join("\n", title, ":\n");
  for (const auto& [head, about] : entries) {
    std::string line = join("  ", head);
    for (const std::string& part : wrapped(about, page - width - 4)) {
      if (columns(line) > width + 2) {
        text += join(line, "\n");
        line.clear();
      }
      line.resize(width + 4, ' ');
      text += join(line, part, "\n");
      line.clear();
    }
  }
}

Entries entries_of(const std::vector<OptionShape>& options, bool common) {
  Entries entries;
  for (const OptionShape& option : options) {
    if (option.common == common) entries.emplace_back(head_of(option), option.about);
  }
  return entries;
}

std::string usage_of(const CommandShape& command) {
  if (!command.usage.empty()) return join(command.path, " ", command.usage);
  std::string text = command.path;
  if (!command.commands.empty()) return text + " COMMAND";
  for (const OptionShape& argument : command.arguments) {
    const std::string name = argument.names.front() + (argument.repeatable ? "..." : "");
    text += argument.required ? join(" ", name) : join(" [", name, "]");
  }
  for (const OptionShape& option : command.options) {
    if (!option.required) continue;
    text += join(" ", option.names.front(), " ", option.value, option.repeatable ? "..." : "");
  }
  return text + " [OPTION...]";
}

}  // namespace

std::vector<std::string> choices_of(const std::string& value) {
  std::vector<std::string> choices;
  if (value.find('|') == std::string::npos) return choices;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t end = std::min(value.find('|', at), value.size());
    choices.push_back(value.substr(at, end - at));
    at = end + 1;
  }
  return choices;
}

std::string help_text(const CommandShape& command) {
  std::string text = join("Usage: ", usage_of(command), "\n\n");
  for (const std::string& line : wrapped(command.about, 100)) text += line + "\n";

  Entries commands;
  for (const CommandShape& inner : command.commands) {
    const std::size_t sentence = std::min(inner.about.find(". "), inner.about.size());
    std::string about = inner.about.substr(0, sentence);
    if (about.ends_with('.')) about.pop_back();
    commands.emplace_back(inner.name, about);
  }
  add_section(text, "Commands", commands);
  Entries arguments;
  for (const OptionShape& argument : command.arguments)
    arguments.emplace_back(argument.names.front(), argument.about);
  add_section(text, "Arguments", arguments);
  add_section(text, "Options", entries_of(command.options, false));
  add_section(text, "Common options", entries_of(command.options, true));

  if (!command.examples.empty()) {
    text += "\nExamples:\n";
    for (std::size_t at = 0; at < command.examples.size();) {
      const std::size_t end = std::min(command.examples.find('\n', at), command.examples.size());
      text += join("  ", command.examples.substr(at, end - at), "\n");
      at = end + 1;
    }
  }
  return text;
}

}  // namespace weir::cli
