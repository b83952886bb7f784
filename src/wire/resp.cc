#include "wire/resp.h"

#include <array>
#include <charconv>

namespace weir::wire::resp {
namespace {

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end || text.empty()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> Reply::integer() const {
  if (type() == Type::integer) return node().integer;
  return is_text() ? number_of(text()) : std::nullopt;
}

std::size_t Reply::size() const {
  std::size_t count = 0;
  if (!is_list()) return count;
  for (auto child = children(); !child.at_end(); ++child) ++count;
  return count;
}

const std::vector<Node>& Reply::no_nodes() {
  static const std::vector<Node> none(1);
  return none;
}

Reply Reply::Children::next() {
  if (at_end()) return {"", no_nodes(), 0};
  const Reply present = at_;
  ++*this;
  return present;
}

std::vector<std::string_view> Reply::texts() const {
  std::vector<std::string_view> texts;
  if (!is_list()) return texts;
  for (auto child = children(); !child.at_end(); ++child) texts.push_back(child->text());
  return texts;
}

void ReplyReader::reset() {
  nodes_.clear();
  open_.clear();
  at_ = scanned_ = 0;
}

ReplyReader::Status ReplyReader::read(std::string_view bytes) {
  do {
    if (nodes_.size() >= limits_.nodes) return Status::malformed;
    const Status status = read_value(bytes);
    if (status == Status::incomplete && bytes.size() > limits_.bytes) return Status::malformed;
    if (status != Status::complete) return status;
    close_lists();
  } while (!open_.empty());
  return Status::complete;
}

/// One value without its children.
ReplyReader::Status ReplyReader::read_value(std::string_view bytes) {
  std::string_view line;
  const std::size_t begin = at_;
  if (const Status status = read_line(bytes, line); status != Status::complete) return status;
  if (line.empty()) return Status::malformed;
  const std::string_view rest = line.substr(1);
  Status status = Status::complete;
  switch (line[0]) {
    case '+':
    case ',':
    case '(':
      add(Type::text, begin + 1, rest.size());
      break;
    case '-':
      add(Type::error, begin + 1, rest.size());
      break;
    case ':':
      status = add_number(rest);
      break;
    case '_':
      if (!rest.empty()) return Status::malformed;
      add(Type::null, at_, 0);
      break;
    case '#':
      if (rest != "t" && rest != "f") return Status::malformed;
      add(Type::integer, at_, 0, rest == "t" ? 1 : 0);
      break;
    case '$':
    case '=':
      status = read_blob(bytes, Type::text, rest);
      break;
    case '!':
      status = read_blob(bytes, Type::error, rest);
      break;
    case '*':
    case '~':
      status = open_list(Type::array, rest, 1);
      break;
    case '%':
      status = open_list(Type::map, rest, 2);
      break;
    case '>':
      status = open_list(Type::push, rest, 1);
      break;
    default:
      return Status::malformed;
  }
  // Incomplete: the value is read again from its beginning, which costs one short line.
  if (status == Status::incomplete) at_ = begin;
  return status;
}

ReplyReader::Status ReplyReader::read_line(std::string_view bytes, std::string_view& line) {
  const std::size_t from = scanned_ > at_ ? scanned_ : at_;
  const std::size_t end = bytes.find('\r', from);
  if (end == std::string_view::npos || end + 1 == bytes.size()) {
    scanned_ = end == std::string_view::npos ? bytes.size() : end;
    return Status::incomplete;
  }
  if (bytes[end + 1] != '\n') return Status::malformed;
  line = bytes.substr(at_, end - at_);
  at_ = end + 2;
  return Status::complete;
}

ReplyReader::Status ReplyReader::read_blob(std::string_view bytes, Type type, std::string_view length) {
  const auto size = number_of(length);
  if (!size || *size < -1) return Status::malformed;
  if (*size == -1) {
    add(Type::null, at_, 0);
    return Status::complete;
  }
  const auto count = static_cast<std::size_t>(*size);
  if (count > limits_.bytes) return Status::malformed;
  if (bytes.size() - at_ < count + 2) return Status::incomplete;
  if (bytes.substr(at_ + count, 2) != "\r\n") return Status::malformed;
  add(type, at_, count);
  at_ += count + 2;
  return Status::complete;
}

ReplyReader::Status ReplyReader::open_list(Type type, std::string_view count, std::size_t per_member) {
  const auto size = number_of(count);
  if (!size || *size < -1 || *size > static_cast<std::int64_t>(limits_.nodes)) return Status::malformed;
  if (*size == -1) {
    add(Type::null, at_, 0);
    return Status::complete;
  }
  if (open_.size() == limits_.depth) return Status::malformed;
  add(type, at_, 0);
  open_.push_back({nodes_.size() - 1, static_cast<std::size_t>(*size) * per_member + 1});
  return Status::complete;
}

ReplyReader::Status ReplyReader::add_number(std::string_view text) {
  const auto number = number_of(text);
  if (!number) return Status::malformed;
  add(Type::integer, at_, 0, *number);
  return Status::complete;
}

void ReplyReader::add(Type type, std::size_t at, std::size_t size, std::int64_t integer) {
  nodes_.push_back({type, integer, at, size, nodes_.size() + 1});
}

/// Counts the value that was just read, and closes the lists that it completes. A list counts itself first,
/// so that an empty one is complete at once.
void ReplyReader::close_lists() {
  while (!open_.empty() && --open_.back().left == 0) {
    nodes_[open_.back().node].end = nodes_.size();
    open_.pop_back();
  }
}

namespace {

void append_header(std::string& out, char kind, std::size_t number) {
  std::array<char, 24> text;
  text[0] = kind;
  char* end = std::to_chars(text.data() + 1, text.data() + text.size(), number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(text.data(), end);
}

}  // namespace

void append_command(std::string& out, std::size_t words) { append_header(out, '*', words); }

void append_word(std::string& out, std::string_view word) {
  append_header(out, '$', word.size());
  out.append(word);
  out.append("\r\n");
}

void append_word(std::string& out, std::int64_t number) {
  std::array<char, 24> text;
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  append_word(out, std::string_view(text.data(), end));
}

std::string command(std::initializer_list<std::string_view> words) {
  std::string out;
  append_command(out, words.size());
  for (const std::string_view word : words) append_word(out, word);
  return out;
}

namespace {

/// CRC-16 of the kind that Redis Cluster uses (XMODEM): polynomial 0x1021, nothing reflected.
constexpr std::array<std::uint16_t, 256> crc_table = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8U;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    table[i] = static_cast<std::uint16_t>(crc & 0xffffU);
  }
  return table;
}();

}  // namespace

unsigned slot_of(std::string_view key) {
  if (const std::size_t open = key.find('{'); open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  unsigned crc = 0;
  for (const char c : key) {
    crc = (crc << 8U & 0xffffU) ^ crc_table[(crc >> 8U ^ static_cast<unsigned char>(c)) & 0xffU];
  }
  return crc & 16383U;
}

}  // namespace weir::wire::resp
