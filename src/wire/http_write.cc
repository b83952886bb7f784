#include "wire/http_write.h"

#include <algorithm>
#include <charconv>

#include "wire/http_chars.h"

namespace weir::wire::http {
namespace {

constexpr std::size_t number_room = 24;

/// Room must be reserved. A constant base is several times faster.
template <int base = 10>
void put_number(Buffer& out, std::uint64_t value) {
  std::array<char, number_room> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value, base);
  out.put({digits.data(), static_cast<std::size_t>(result.ptr - digits.data())});
}

void put_status_line(Buffer& out, int status) {
  if (status == 200) return out.put("HTTP/1.1 200 OK\r\n");
  const auto digit = [](int value) { return static_cast<char>('0' + value % 10); };
  const std::array<char, 13> start{
      'H',           'T', 'T', 'P', '/', '1', '.', '1', ' ', digit(status / 100), digit(status / 10),
      digit(status), ' '};
  out.put({start.data(), start.size()});
  out.put(reason_phrase(status));
  out.put("\r\n");
}

void put_framing(Buffer& out, Framing body) {
  if (body.kind == Framing::Kind::length) {
    out.put("Content-Length: ");
    put_number(out, body.length);
    out.put("\r\n");
  } else if (body.kind == Framing::Kind::chunked) {
    out.put("Transfer-Encoding: chunked\r\n");
  }
}

void put_connection(Buffer& out, const ResponseShape& shape) {
  if (shape.status == 101) return;
  if (!shape.keep_alive) return out.put("Connection: close\r\n");
  if (shape.request == Version::http_1_0) out.put("Connection: keep-alive\r\n");
}

void put_two(char* to, unsigned value) {
  to[0] = static_cast<char>('0' + value / 10);
  to[1] = static_cast<char>('0' + value % 10);
}

struct Day {
  unsigned year;
  unsigned month;  ///< from 0
  unsigned day;
};

/// The proleptic Gregorian date of a day counted from 1970-01-01: years are counted from March, so that the
/// day that leap years add is the last of its year.
Day day_of(std::int64_t days) {
  days += 719'468;
  const std::int64_t era = days / 146'097;
  const auto in_era = static_cast<unsigned>(days - era * 146'097);
  const unsigned year_of_era = (in_era - in_era / 1460 + in_era / 36'524 - in_era / 146'096) / 365;
  const unsigned in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const unsigned from_march = (5 * in_year + 2) / 153;
  const unsigned day = in_year - (153 * from_march + 2) / 5 + 1;
  const unsigned month = from_march < 10 ? from_march + 2 : from_march - 10;
  const auto year = static_cast<unsigned>(era) * 400 + year_of_era + (month < 2 ? 1 : 0);
  return {year, month, day};
}

}  // namespace

DateText format_date(std::int64_t seconds_since_1970) {
  // Clocks before 1970 or after 9999 are broken; the text must still be well formed.
  constexpr std::int64_t last = 253'402'300'799;
  const std::int64_t seconds = std::min(std::max<std::int64_t>(seconds_since_1970, 0), last);
  const std::int64_t days = seconds / 86'400;
  const auto in_day = static_cast<unsigned>(seconds % 86'400);
  const Day date = day_of(days);
  DateText text;
  std::string_view("Thu, 01 Jan 1970 00:00:00 GMT").copy(text.data(), text.size());
  std::string_view("ThuFriSatSunMonTueWed")
      .substr(static_cast<std::size_t>(days % 7) * 3, 3)
      .copy(text.data(), 3);
  put_two(&text[5], date.day);
  std::string_view("JanFebMarAprMayJunJulAugSepOctNovDec")
      .substr(std::size_t{date.month} * 3, 3)
      .copy(&text[8], 3);
  put_two(&text[12], date.year / 100);
  put_two(&text[14], date.year % 100);
  put_two(&text[17], in_day / 3600);
  put_two(&text[20], in_day / 60 % 60);
  put_two(&text[23], in_day % 60);
  return text;
}

bool write_field(Buffer& out, std::string_view name, std::string_view value) {
  if (!is_token(name) || !all(value, value_char)) return false;
  out.reserve(name.size() + value.size() + 4);
  out.put(name);
  out.put(": ");
  out.put(value);
  out.put("\r\n");
  return true;
}

bool write_field(Buffer& out, std::string_view name, std::uint64_t value) {
  if (!is_token(name)) return false;
  out.reserve(name.size() + number_room + 4);
  out.put(name);
  out.put(": ");
  put_number(out, value);
  out.put("\r\n");
  return true;
}

void write_response_head(Buffer& out, const ResponseShape& shape) {
  // Everything but the fields fits in this; one reservation, then plain copies.
  constexpr std::size_t fixed = 256;
  out.reserve(fixed + shape.date.size() + shape.fields.size());
  put_status_line(out, shape.status);
  if (!shape.date.empty()) {
    out.put("Date: ");
    out.put(shape.date);
    out.put("\r\n");
  }
  put_framing(out, shape.body);
  put_connection(out, shape);
  out.put(shape.fields);
  out.put("\r\n");
}

void write_interim(Buffer& out, int status, std::string_view fields) {
  out.reserve(64 + fields.size());
  put_status_line(out, status);
  out.put(fields);
  out.put("\r\n");
}

void write_request_line(Buffer& out, std::string_view method, std::string_view target) {
  out.reserve(method.size() + target.size() + 16);
  out.put(method);
  out.put(" ");
  out.put(target);
  out.put(" HTTP/1.1\r\n");
}

void write_chunk(Buffer& out, std::string_view data) {
  if (data.empty()) return;
  out.reserve(data.size() + number_room + 4);
  put_number<16>(out, data.size());
  out.put("\r\n");
  out.put(data);
  out.put("\r\n");
}

void write_last_chunk(Buffer& out, std::string_view trailers) {
  out.reserve(trailers.size() + 8);
  out.put("0\r\n");
  out.put(trailers);
  out.put("\r\n");
}

}  // namespace weir::wire::http
