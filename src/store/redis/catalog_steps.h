// The steps of catalog.lua.
#pragma once

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir::redis {

/// The keys, and the words behind those of the head. The first key is the catalog.
struct CatalogSteps {
  std::vector<std::string> keys;
  std::vector<std::string> words;

  std::string number_of(const std::string& key) {
    const auto [place, added] = numbers_.try_emplace(key, keys.size() + 1);
    if (added) keys.push_back(key);
    return std::to_string(place->second);
  }
  void set(std::string field, std::string value) { add({"set", std::move(field), std::move(value)}); }
  void erase(std::string field) { add({"del", std::move(field)}); }
  void on(const char* what, const std::string& key, std::string member) {
    add({what, number_of(key), std::move(member)});
  }
  void add(std::initializer_list<std::string> step) { words.insert(words.end(), step); }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace weir::redis
