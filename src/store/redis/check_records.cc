#include "store/redis/check_records.h"

#include <functional>
#include <map>

#include "base/text.h"
#include "limits/names.h"
#include "store/redis/bucket_write.h"
#include "store/redis/catalog.h"
#include "store/redis/codec.h"
#include "store/redis/record.h"
#include "store/redis/usage_codec.h"
#include "store/table/draft.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

constexpr std::string_view in_a_page = "500";
constexpr std::string_view bucket_mark = "}:b:";
constexpr std::string_view lease_mark = "}:l:";
constexpr std::string_view usage_mark = "}:u:";
constexpr std::string_view catalog_end = "}:catalog";

/// The part of a key behind a mark; nothing where it has none.
std::optional<std::string_view> behind(std::string_view key, std::string_view mark) {
  const std::size_t at = key.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return key.substr(at + mark.size());
}

class Check {
 public:
  explicit Check(Context& context) : calls_(context), context_(context) {}

  Result<void> run() {
    const std::string pattern = context_.names.prefix + ":*";
    return scan({"SCAN", "", "MATCH", pattern, "COUNT", in_a_page}, 1, [this](const Reply& page) {
      std::vector<std::string> records;
      for (const std::string_view key : page.texts()) {
        if (key.ends_with(catalog_end)) {
          if (auto read = read_catalog(std::string(key)); !read) return read;
        } else if (behind(key, usage_mark)) {
          if (auto read = read_usage(std::string(key)); !read) return read;
        } else if (behind(key, bucket_mark) || behind(key, lease_mark)) {
          records.emplace_back(key);
        }
      }
      return read_records(records);
    });
  }

 private:
  /// Repeats a command with a cursor at `place` until the server has sent every page.
  Result<void> scan(std::vector<std::string_view> words, std::size_t place,
                    const std::function<Result<void>(const Reply&)>& take) {
    std::string cursor = "0";
    do {
      words[place] = cursor;
      std::string command;
      resp::append_command(command, words.size());
      for (const std::string_view word : words) resp::append_word(command, word);
      auto reply = calls_.ask(context_.names.store(), std::move(command));
      if (!reply) return reply.error();
      const Reply list = reply->get();
      auto at = list.children();
      const std::string next(at.next().text());
      if (auto taken = take(at.next()); !taken) return taken;
      cursor = next;
    } while (!cursor.empty() && cursor != "0");
    return {};
  }

  Result<void> read_catalog(const std::string& key) {
    const std::size_t from = context_.names.prefix.size() + 2;
    if (key.size() < from + catalog_end.size()) return {};
    const std::string name_space = key.substr(from, key.size() - from - catalog_end.size());
    return scan({"HSCAN", key, "", "COUNT", in_a_page}, 2, [&](const Reply& page) -> Result<void> {
      for (auto at = page.children(); !at.at_end();) {
        const std::string_view field = at.next().text();
        read_field(name_space, field, at.next().text());
      }
      return {};
    });
  }

  /// The days of a bucket's usage, and the other fields that put.lua writes.
  Result<void> read_usage(const std::string& key) {
    const auto [entity, resource] = names_in(*behind(key, usage_mark));
    auto reply = calls_.ask(context_.names.store(), resp::command({"HGETALL", key}));
    if (!reply) {
      context_.bad.report(unusable_usage(entity, resource));
      return {};
    }
    const Reply fields = reply->get();
    for (auto at = fields.children(); !at.at_end();) {
      const std::string_view name = at.next().text();
      const std::string_view text = at.next().text();
      if (!is_usage(name, text)) context_.bad.report(damaged_usage(entity, resource, name));
    }
    return {};
  }

  static bool is_usage(std::string_view name, std::string_view text) {
    if (name == "o") return text.empty() || text == "-" || base::parse_digits(text);
    if (name == "lost") return base::parse_digits(text).has_value();
    const bool whole = name.starts_with('d');
    const auto day = base::parse_digits(name.substr(whole ? 1 : 0));
    if (!day) return false;
    return whole ? read_day(*day, text).has_value() : read_hours(*day, text).has_value();
  }

  /// The entity and the resource at the end of a key.
  static std::pair<std::string_view, std::string_view> names_in(std::string_view name) {
    const std::size_t colon = std::min(name.find(':'), name.size());
    return {name.substr(0, colon), name.substr(std::min(colon + 1, name.size()))};
  }

  void read_field(const std::string& name_space, std::string_view field, std::string_view value) {
    if (field.starts_with("n ")) {
      (void)read_entity(name_space, field.substr(2), value, context_.bad);
    } else if (field.starts_with("p ")) {
      (void)read_plan(name_space, field.substr(2), value, context_.bad);
    } else if (table::is_level_key(field)) {
      (void)read_limits(name_space, field, value, context_.bad);
    } else if (!base::parse_digits(value)) {
      context_.bad.report(base::join("the field ", base::quoted(field), " of the catalog of namespace ",
                                     base::quoted(name_space), " is not one that weir writes; delete it"));
    }
  }

  Result<void> read_records(const std::vector<std::string>& keys) {
    if (keys.empty()) return {};
    std::string command;
    resp::append_command(command, keys.size() + 1);
    resp::append_word(command, std::string_view("MGET"));
    for (const std::string& key : keys) resp::append_word(command, key);
    auto reply = calls_.ask(context_.names.store(), std::move(command));
    if (!reply) return reply.error();
    const Reply list = reply->get();
    auto at = list.children();
    for (const std::string& key : keys) {
      const Reply value = at.next();
      if (behind(key, lease_mark)) {
        if (value.is_text() && !decode_marker(value.text()))
          context_.bad.report(
              base::join("the record ", base::quoted(key), " of a lease cannot be used; delete it"));
      } else if (auto read = read_one(key, value); !read) {
        return read;
      }
    }
    return {};
  }

  Result<void> read_one(const std::string& key, const Reply& value) {
    const auto [entity, resource] = names_in(*behind(key, bucket_mark));
    if (value.is_text()) {
      if (auto read = read_bucket(value, entity, resource); !read) context_.bad.report(read.error().message);
      return {};
    }
    // A hash of format 1, another type, or a key that has expired meanwhile.
    auto reply = calls_.ask(context_.names.store(), resp::command({"HGETALL", key}));
    const auto read = reply ? read_bucket(reply->get(), entity, resource) : reply.error();
    if (!read) context_.bad.report(read.error().message);
    return {};
  }

  BlockingCalls calls_;
  Context& context_;
};

}  // namespace

void check_records(Context& context, std::vector<store::Finding>& findings) {
  if (context.cluster) {
    return findings.push_back(
        {store::Severity::ok, "records",
         "are not read in a cluster; a bad one is in the log of the process that met it"});
  }
  if (auto read = Check(context).run(); !read)
    return findings.push_back({store::Severity::warning, "records", read.error().message});
  context.bad.add_to(findings);
}

}  // namespace weir::redis
