#include "limiter/lease_id.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "limits/names.h"

namespace weir::limiter {
namespace {

constexpr std::string_view prefix = "w1";
constexpr std::size_t mac_size = 16;

using Mac = std::array<unsigned char, mac_size>;

Mac mac_of(std::string_view payload, const store::LeaseKey& key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(payload.data()), payload.size(), digest.data(), &size);
  Mac mac;
  std::copy_n(digest.begin(), mac_size, mac.begin());
  return mac;
}

class Writer {
 public:
  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_ += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xffU);
  }
  void text(std::string_view value) {
    number(static_cast<std::uint16_t>(value.size()));
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads what Writer wrote; after the first thing that does not fit, everything is empty and failed().
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    const std::string_view raw = take(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < raw.size(); ++i)
      value |= std::uint64_t{static_cast<unsigned char>(raw[i])} << (8 * i);
    return static_cast<T>(value);
  }
  std::string_view text() { return take(number<std::uint16_t>()); }
  bool failed() const { return failed_; }
  bool at_end() const { return !failed_ && bytes_.empty(); }

 private:
  std::string_view take(std::size_t size) {
    failed_ = failed_ || size > bytes_.size();
    if (failed_) return {};
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
  bool failed_ = false;
};

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string to_base64url(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = bits << 8U | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) text += alphabet[bits >> (count - 6) & 63U];
  }
  if (count > 0) text += alphabet[bits << (6 - count) & 63U];
  return text;
}

/// Nothing if there is a foreign character, or if it is not the one way to write these bytes.
std::optional<std::string> from_base64url(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::size_t value = alphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xffU);
  }
  if (to_base64url(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace

std::string encode_lease(const detail::LeaseData& lease, std::string_view name_space,
                         const store::LeaseKey& key) {
  Writer writer;
  writer.number(lease.nonce[0]);
  writer.number(lease.nonce[1]);
  writer.number(lease.deadline);
  writer.text(name_space);
  writer.text(lease.resource);
  writer.number(static_cast<std::uint8_t>(lease.buckets.size()));
  for (const auto& bucket : lease.buckets) {
    writer.text(bucket.entity);
    writer.number(bucket.generation);
  }
  writer.number(static_cast<std::uint8_t>(lease.amounts.size()));
  for (const auto& amount : lease.amounts) {
    writer.text(amount.limit);
    writer.number(amount.amount);
    writer.number(amount.buckets);
  }
  const Mac mac = mac_of(writer.bytes(), key);
  return std::string(prefix) + to_base64url(std::string(mac.begin(), mac.end()) + writer.bytes());
}

std::optional<detail::LeaseData> parse_lease_payload(std::string_view payload, std::string_view name_space) {
  Reader reader(payload);
  detail::LeaseData lease;
  lease.shared = true;
  lease.nonce[0] = reader.number<std::uint64_t>();
  lease.nonce[1] = reader.number<std::uint64_t>();
  lease.deadline = reader.number<Time>();
  if (reader.text() != name_space) return std::nullopt;
  lease.resource = reader.text();
  for (auto left = reader.number<std::uint8_t>(); left > 0 && !reader.failed(); --left) {
    const std::string_view entity = reader.text();
    lease.buckets.push_back({std::string(entity), reader.number<std::uint64_t>()});
  }
  for (auto left = reader.number<std::uint8_t>(); left > 0 && !reader.failed(); --left) {
    const std::string_view name = reader.text();
    const auto millitokens = reader.number<std::int64_t>();
    lease.amounts.push_back({std::string(name), millitokens, reader.number<std::uint8_t>()});
  }
  if (!reader.at_end() || lease.buckets.size() > limits::max_chain) return std::nullopt;
  return lease;
}

std::optional<detail::LeaseData> decode_lease(std::string_view id, std::string_view name_space,
                                              const store::LeaseKey& key) {
  if (id.size() > max_lease_id || !id.starts_with(prefix)) return std::nullopt;
  const auto bytes = from_base64url(id.substr(prefix.size()));
  if (!bytes || bytes->size() < mac_size) return std::nullopt;
  const std::string_view payload = std::string_view(*bytes).substr(mac_size);
  const Mac mac = mac_of(payload, key);
  if (CRYPTO_memcmp(mac.data(), bytes->data(), mac_size) != 0) return std::nullopt;
  return parse_lease_payload(payload, name_space);
}

std::optional<Time> deadline_of(std::string_view id) {
  if (id.size() > max_lease_id || !id.starts_with(prefix)) return std::nullopt;
  const auto bytes = from_base64url(id.substr(prefix.size()));
  if (!bytes || bytes->size() < mac_size) return std::nullopt;
  Reader reader(std::string_view(*bytes).substr(mac_size));
  reader.number<std::uint64_t>();
  reader.number<std::uint64_t>();
  const Time deadline = reader.number<Time>();
  return reader.failed() ? std::nullopt : std::optional(deadline);
}

}  // namespace weir::limiter
