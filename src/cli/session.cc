#include "cli/session.h"

#include "app/store_url.h"
#include "base/text.h"
#include "cli/local.h"
#include "cli/read.h"
#include "cli/words.h"
#include "client/remote.h"

namespace weir::cli {
namespace {

Result<Color> read_color(const std::optional<std::string>& word) {
  constexpr std::string_view choices[] = {"auto", "always", "never"};
  if (!word) return Color::automatic;
  auto choice = read_choice("--color", *word, choices);
  if (!choice) return choice.error();
  return *choice == "always" ? Color::always : *choice == "never" ? Color::never : Color::automatic;
}

Result<Format> read_format(const std::optional<std::string>& word, bool csv) {
  constexpr std::string_view choices[] = {"table", "json", "csv"};
  if (!word) return Format::table;
  auto choice = read_choice("-o", *word, std::span(choices).first(csv ? 3 : 2));
  if (!choice) return choice.error();
  return *choice == "json" ? Format::json : *choice == "csv" ? Format::csv : Format::table;
}

}  // namespace

Result<Session> Session::make(World& world, const Common& common, const CommandShape& commands, Reach reach,
                              bool csv) {
  Session session(world);
  session.commands_ = &commands;
  const auto color = read_color(common.color);
  if (!color) return color.error();
  const auto format = read_format(common.output, csv);
  if (!format) return format.error();
  session.format_ = *format;
  session.style_ = Style(use_color(*color, world.out_is_terminal, world.environment));
  session.side_style_ = Style(use_color(*color, world.err_is_terminal, world.environment));

  auto place = read_destination(common, world, reach);
  if (!place) return place.error();
  session.place_ = *std::move(place);
  if (auto name_space = said(common.name_space, world, "WEIR_NAMESPACE")) {
    session.options_.name_space = *name_space;
    session.namespace_was_said_ = true;
  }
  session.options_.principal = common.principal.value_or(world.login);
  // Short commands in a pipeline or a loop wait for each other instead of failing on the locked file.
  session.options_.wait_for_file = std::chrono::seconds(2);
  return session;
}

std::unique_ptr<client::Target> Session::another_target() const {
  client::RemoteOptions server = *place_.server;
  // Otherwise the token may determine the namespace.
  if (namespace_was_said_) server.name_space = options_.name_space;
  return std::make_unique<client::Remote>(std::move(server), world_->entropy);
}

client::Target& Session::target() {
  if (target_ != nullptr) return *target_;
  if (place_.server) {
    target_ = another_target();
  } else {
    target_ = std::make_unique<Local>(*world_, place_.store, options_);
  }
  return *target_;
}

client::Target& Session::existing() {
  options_.create = false;
  return target();
}

void Session::release_file() {
  if (!place_.server && place_.store.starts_with("sqlite:")) target_.reset();
}

void Session::choose_namespace(const std::string& name) {
  options_.name_space = name;
  namespace_was_said_ = true;
}

std::string Session::place() const {
  if (place_.server && !namespace_was_said_) return place_.server->url.text;
  return base::join(place_.server ? place_.server->url.text : app::without_password(place_.store),
                    " (namespace ", options_.name_space, ")");
}

void Session::print_fields(const std::vector<std::pair<std::string, std::string>>& fields) const {
  std::size_t width = 0;
  for (const auto& [name, value] : fields) {
    if (!value.empty()) width = std::max(width, name.size());
  }
  for (const auto& [name, value] : fields) {
    if (value.empty()) continue;
    out() << style_(Tone::heading, name) << std::string(width - name.size() + 2, ' ') << printable(value)
          << '\n';
  }
}

void Session::warn(std::string_view text) const {
  world_->err << "weir: " << side_style_(Tone::warning, "warning: ") << printable(text) << '\n';
}

void Session::note(std::string_view text) const {
  world_->err << side_style_(Tone::quiet, base::join("weir: ", printable(text))) << '\n';
}

void Session::warn_if_forgotten() const {
  if (place_.server || (place_.store != "memory:" && place_.store != "memory")) return;
  warn(
      "the store memory: is empty when a command begins and is forgotten when it ends; keep it in a file "
      "with "
      "--store sqlite:weir.db, or in a service with weir serve --store memory: and --server URL");
}

void Session::note_empty_namespace() const {
  const std::string& name = options_.name_space;
  const auto known = place_.server ? Result<std::vector<std::string>>(std::vector<std::string>())
                                   : world_->namespaces(place_.store);
  if (!known) return;
  if (known->empty()) {
    if (namespace_was_said_)
      note(base::join("nothing is found in namespace ", name, "; check its name if you expected something"));
    return;
  }
  if (std::find(known->begin(), known->end(), name) != known->end()) return;
  constexpr std::size_t most = 8;
  std::string others;
  for (std::size_t i = 0; i < std::min(known->size(), most); ++i)
    others += base::join(i == 0 ? "" : ", ", (*known)[i]);
  const std::vector<std::string_view> names(known->begin(), known->end());
  note(base::join("namespace ", name, " is empty; the store has ", others,
                  known->size() > most ? " and more" : "", base::did_you_mean(name, names)));
}

void JsonList::add(std::string_view json) {
  if (begun_) {
    out_ << ',' << json;
  } else {
    out_ << "{\"" << name_ << "\":[" << json;
  }
  begun_ = true;
}

void JsonList::end() {
  if (!begun_) add("");
  out_ << "]}\n";
}

}  // namespace weir::cli
