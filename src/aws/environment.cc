#include "aws/environment.h"

#include <cstdlib>
#include <iterator>

#include "base/file.h"
#include "base/maxima.h"
#include "base/text.h"

namespace weir::aws {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// " ; a comment" and " # a comment" end a value; without a space before the mark it is part of the value.
std::string_view without_comment(std::string_view value) {
  for (std::size_t i = 1; i < value.size(); ++i) {
    if ((value[i] == '#' || value[i] == ';') && (value[i - 1] == ' ' || value[i - 1] == '\t'))
      return trimmed(value.substr(0, i));
  }
  return value;
}

/// The name of the profile of a section; nothing if the section is no profile.
std::optional<std::string> section_of(std::string_view line, bool of_config) {
  const std::size_t close = line.find(']');
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view name = trimmed(line.substr(1, close - 1));
  if (!of_config || name == "default") return std::string(name);
  constexpr std::string_view word = "profile";
  if (!name.starts_with(word) || name.size() == word.size()) return std::nullopt;
  name.remove_prefix(word.size());
  if (name.front() != ' ' && name.front() != '\t') return std::nullopt;
  name = trimmed(name);
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
  return std::string(name);
}

std::optional<std::string> read_whole(const std::string& path) {
  auto text = base::read_file(path, maxima::credentials_file);
  return text ? std::optional<std::string>(*std::move(text)) : std::nullopt;
}

std::string path_of(const Environment& environment, const char* variable, std::string_view name) {
  if (auto path = environment.variable(variable)) return *path;
  return base::join(environment.variable("HOME").value_or(""), "/.aws/", name);
}

}  // namespace

Environment Environment::of_process() {
  return {[](const std::string& name) -> std::optional<std::string> {
            // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment
            const char* const value = std::getenv(name.c_str());
            if (value == nullptr || *value == '\0') return std::nullopt;
            return value;
          },
          read_whole};
}

std::map<std::string, Profile, std::less<>> parse_profiles(std::string_view text, bool of_config) {
  std::map<std::string, Profile, std::less<>> profiles;
  Profile* profile = nullptr;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (content.front() == '[') {
      const auto section = section_of(content, of_config);
      profile = section ? &profiles[*section] : nullptr;
      continue;
    }
    const std::size_t equals = content.find('=');
    const bool nested = line.front() == ' ' || line.front() == '\t';
    if (profile == nullptr || nested || equals == std::string_view::npos) continue;
    (*profile)[std::string(trimmed(content.substr(0, equals)))] =
        without_comment(trimmed(content.substr(equals + 1)));
  }
  return profiles;
}

Result<Profile> read_profile(const Environment& environment) {
  const auto named = environment.variable("AWS_PROFILE");
  const std::string name = named.value_or("default");
  const std::string config_path = path_of(environment, "AWS_CONFIG_FILE", "config");
  const std::string credentials_path = path_of(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
  bool found = false;
  Profile profile;
  const auto merge = [&](const std::string& path, bool of_config) {
    const auto text = environment.file(path);
    if (!text) return;
    const auto profiles = parse_profiles(*text, of_config);
    const auto at = profiles.find(name);
    if (at == profiles.end()) return;
    found = true;
    for (const auto& [key, value] : at->second) profile[key] = value;
  };
  merge(config_path, true);
  merge(credentials_path, false);
  if (found || !named) return profile;
  return base::invalid("AWS_PROFILE names the profile ", base::quoted(name), ", which is neither in ",
                       config_path, " nor in ", credentials_path);
}

std::optional<std::string> region_of(const Environment& environment) {
  for (const char* const name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (auto region = environment.variable(name)) return region;
  }
  const auto profile = read_profile(environment);
  if (!profile) return std::nullopt;
  const auto region = profile->find("region");
  return region == profile->end() || region->second.empty() ? std::nullopt : std::optional(region->second);
}

std::optional<std::string> endpoint_of(const Environment& environment, std::string_view service_in_capitals) {
  if (auto endpoint = environment.variable(base::join("AWS_ENDPOINT_URL_", service_in_capitals)))
    return endpoint;
  return environment.variable("AWS_ENDPOINT_URL");
}

}  // namespace weir::aws
