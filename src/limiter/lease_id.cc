#include "limiter/lease_id.h"

// For SHA256_CTX on the stack; see KeyedMac.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <span>
#include <vector>

#include "base/base64.h"
#include "limits/names.h"
#include "weir/detail/copy.h"

namespace weir::limiter {
namespace {

constexpr std::string_view prefix = "w1";
constexpr std::size_t mac_size = 16;

using Mac = std::array<unsigned char, mac_size>;

/// HMAC-SHA-256 (RFC 2104) under a key that seldom changes. Keeps the states of the two hashes after the key,
/// and starts every text from a copy of them. For such short texts OpenSSL's own HMAC takes four times as
/// long, and so do its EVP digests, which allocate for each copy.
class KeyedMac {
 public:
  Mac of(std::string_view payload, const store::LeaseKey& key) {
    if (!keyed_ || key != key_) set_key(key);
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
    SHA256_CTX hash = inner_;
    SHA256_Update(&hash, payload.data(), payload.size());
    SHA256_Final(digest.data(), &hash);
    hash = outer_;
    SHA256_Update(&hash, digest.data(), digest.size());
    SHA256_Final(digest.data(), &hash);
    Mac mac;
    std::copy_n(digest.begin(), mac_size, mac.begin());
    return mac;
  }

 private:
  void set_key(const store::LeaseKey& key) {
    inner_ = begin(key, 0x36);
    outer_ = begin(key, 0x5c);
    key_ = key;
    keyed_ = true;
  }
  static SHA256_CTX begin(const store::LeaseKey& key, unsigned char pad) {
    std::array<unsigned char, SHA256_CBLOCK> block;
    block.fill(pad);
    for (std::size_t i = 0; i < key.size(); ++i)
      block[i] = static_cast<unsigned char>(block[i] ^ std::to_integer<unsigned char>(key[i]));
    SHA256_CTX hash;
    SHA256_Init(&hash);
    SHA256_Update(&hash, block.data(), block.size());
    return hash;
  }

  SHA256_CTX inner_;
  SHA256_CTX outer_;
  store::LeaseKey key_{};
  bool keyed_ = false;
};

Mac mac_of(std::string_view payload, const store::LeaseKey& key) {
  thread_local KeyedMac keyed;
  return keyed.of(payload, key);
}

/// Writes into a buffer of sufficient size.
class Writer {
 public:
  explicit Writer(char* at) : at_(at) {}
  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      *at_++ = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xffU);
  }
  void text(std::string_view value) {
    number(static_cast<std::uint16_t>(value.size()));
    detail::copy_short(at_, value.data(), value.size());
    at_ += value.size();
  }
  char* at() const { return at_; }

 private:
  char* at_;
};

/// Reads the output of Writer. After the first malformed field every result is empty and failed() is true.
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

/// A view of a grant as a lease; the texts belong to the report.
class GrantedLease {
 public:
  explicit GrantedLease(const Grant& grant)
      : nonce(grant.nonce), deadline(grant.deadline), amounts_(spare_amounts()) {
    amounts_.clear();
    const LimitReport& report = grant.report;
    for (std::size_t i = 0; i < report.size(); ++i) {
      const LimitStatus status = report[i];
      const std::size_t position = report.bucket_of(i);
      const LimitReport::Bucket& bucket = report.bucket(position);
      resource = status.resource;
      if (position == bucket_count_) buckets_[bucket_count_++] = {status.entity, bucket.generation};
      if ((bucket.named >> (i - bucket.first_line) & 1U) != 0) add(status, position);
    }
  }

  struct Bucket {
    std::string_view entity;
    std::uint64_t generation;
  };
  struct Amount {
    std::string_view limit;
    std::int64_t amount;
    std::uint8_t buckets;
    std::uint8_t holds;
  };
  const std::array<std::uint64_t, 2> nonce;
  const Time deadline;
  std::string_view resource;
  std::span<const Bucket> buckets() const { return {buckets_.data(), bucket_count_}; }
  std::span<const Amount> amounts() const { return amounts_; }

 private:
  void add(const LimitStatus& status, std::size_t position) {
    auto amount = std::find_if(amounts_.begin(), amounts_.end(),
                               [&](const Amount& other) { return other.limit == status.name; });
    if (amount == amounts_.end())
      amount = amounts_.insert(amount, {status.name, status.requested.millitokens(), 0, 0});
    amount->buckets = static_cast<std::uint8_t>(amount->buckets | 1U << position);
    if (status.kind == Kind::concurrent)
      amount->holds = static_cast<std::uint8_t>(amount->holds | 1U << position);
  }

  std::array<Bucket, limits::max_chain> buckets_;
  /// Memory that all of them on this thread share, one after the other.
  static std::vector<Amount>& spare_amounts() {
    thread_local std::vector<Amount> amounts;
    return amounts;
  }

  std::size_t bucket_count_ = 0;
  std::vector<Amount>& amounts_;
};

// The same access to both kinds of lease.
auto& buckets_of(const detail::LeaseData& lease) { return lease.buckets; }
auto& amounts_of(const detail::LeaseData& lease) { return lease.amounts; }
std::string_view marker_entity_of(const detail::LeaseData& lease) { return lease.marker_entity; }
std::string_view marker_entity_of(const GrantedLease& /*lease*/) { return {}; }
auto buckets_of(const GrantedLease& lease) { return lease.buckets(); }
auto amounts_of(const GrantedLease& lease) { return lease.amounts(); }

/// The size of the layout without its texts.
constexpr std::size_t fixed_size = mac_size + 16 + 8 + 2 + 2 + 1 + 1;
constexpr std::size_t bucket_size = 2 + 8;
constexpr std::size_t amount_size = 2 + 8 + 1;

/// Whether the lease holds something of a concurrent limit.
template <class Lease>
bool has_holds(const Lease& lease) {
  const auto& amounts = amounts_of(lease);
  return std::any_of(amounts.begin(), amounts.end(), [](const auto& amount) { return amount.holds != 0; });
}

constexpr std::size_t granted_size = 1 + 1 + 8 + 8;
std::size_t granted_in(const GrantedLease& /*lease*/) { return 0; }
std::size_t granted_in(const detail::LeaseData& lease) {
  std::size_t uses = 0;
  for (const detail::LeaseAmount& amount : lease.amounts) uses += amount.granted.size();
  return uses;
}
void write_granted(Writer& /*writer*/, const GrantedLease& /*lease*/) {}
void write_granted(Writer& writer, const detail::LeaseData& lease) {
  writer.number(static_cast<std::uint16_t>(granted_in(lease)));
  for (std::size_t i = 0; i < lease.amounts.size(); ++i) {
    for (const detail::GrantUse& use : lease.amounts[i].granted) {
      writer.number(static_cast<std::uint8_t>(i));
      writer.number(use.bucket);
      writer.number(use.end);
      writer.number(use.amount);
    }
  }
}

template <class Lease>
std::size_t size_of(const Lease& lease, std::string_view name_space) {
  std::size_t size = fixed_size + name_space.size() + lease.resource.size();
  for (const auto& bucket : buckets_of(lease)) size += bucket_size + bucket.entity.size();
  for (const auto& amount : amounts_of(lease)) size += amount_size + amount.limit.size();
  const std::size_t marker = marker_entity_of(lease).size();
  const std::size_t uses = granted_in(lease);
  if (uses != 0) size += 2 + uses * granted_size;
  if (uses != 0 || has_holds(lease)) return size + 2 + marker + amounts_of(lease).size();
  return marker == 0 ? size : size + 2 + marker;
}

template <class Lease>
void encode(std::string& id, const Lease& lease, std::string_view name_space, const store::LeaseKey& key) {
  const std::size_t size = size_of(lease, name_space);
  std::array<char, 512> few;
  std::string many(size <= few.size() ? 0 : size, '\0');
  const std::span<char> bytes(many.empty() ? few.data() : many.data(), size);
  Writer writer(bytes.data() + mac_size);
  writer.number(lease.nonce[0]);
  writer.number(lease.nonce[1]);
  writer.number(lease.deadline);
  writer.text(name_space);
  writer.text(lease.resource);
  writer.number(static_cast<std::uint8_t>(buckets_of(lease).size()));
  for (const auto& bucket : buckets_of(lease)) {
    writer.text(bucket.entity);
    writer.number(bucket.generation);
  }
  writer.number(static_cast<std::uint8_t>(amounts_of(lease).size()));
  for (const auto& amount : amounts_of(lease)) {
    writer.text(amount.limit);
    writer.number(amount.amount);
    writer.number(amount.buckets);
  }
  const bool granted = granted_in(lease) != 0;
  const bool holds = granted || has_holds(lease);
  if (holds || !marker_entity_of(lease).empty()) writer.text(marker_entity_of(lease));
  if (holds) {
    for (const auto& amount : amounts_of(lease)) writer.number(amount.holds);
  }
  if (granted) write_granted(writer, lease);
  assert(writer.at() == bytes.data() + bytes.size());
  const std::string_view view(bytes.data(), bytes.size());
  const Mac mac = mac_of(view.substr(mac_size), key);
  std::copy(mac.begin(), mac.end(), bytes.begin());
  id += prefix;
  base::append_base64url(id, view);
}

}  // namespace

std::string encode_lease(const detail::LeaseData& lease, std::string_view name_space,
                         const store::LeaseKey& key) {
  std::string id;
  encode(id, lease, name_space, key);
  return id;
}

void append_grant(std::string& id, const Grant& grant, std::string_view name_space,
                  const store::LeaseKey& key) {
  encode(id, GrantedLease(grant), name_space, key);
}

std::array<std::uint64_t, 2> nonce_of_request(const store::Request& request, std::string_view principal,
                                              std::string_view idempotency_key, const store::LeaseKey& key) {
  const auto texts = {request.name_space, principal, idempotency_key, request.entity, request.resource};
  std::size_t size = 0;
  for (const std::string_view text : texts) size += sizeof(std::uint16_t) + text.size();
  for (const Charge& charge : request.consume)
    size += sizeof(std::uint16_t) + charge.limit.size() + sizeof(std::int64_t);
  std::string bytes(size, '\0');
  Writer writer(bytes.data());
  for (const std::string_view text : texts) writer.text(text);
  for (const Charge& charge : request.consume) {
    writer.text(charge.limit);
    writer.number(charge.amount.millitokens());
  }
  // Uses a derived key: callers choose the texts and see the nonce, which must not be a valid MAC of an id.
  const Mac own = mac_of("idempotency keys", key);
  store::LeaseKey own_key{};
  std::memcpy(own_key.data(), own.data(), own.size());
  thread_local KeyedMac keyed;
  const Mac mac = keyed.of(bytes, own_key);
  std::array<std::uint64_t, 2> nonce{};
  std::memcpy(nonce.data(), mac.data(), mac.size());
  // Never 0, which means a lease without an id.
  nonce[0] |= 1U;
  return nonce;
}

namespace {

bool read_granted(Reader& reader, std::vector<detail::LeaseAmount>& amounts) {
  for (auto left = reader.number<std::uint16_t>(); left > 0 && !reader.failed(); --left) {
    const auto amount = reader.number<std::uint8_t>();
    detail::GrantUse use;
    use.bucket = reader.number<std::uint8_t>();
    use.end = reader.number<Time>();
    use.amount = reader.number<std::int64_t>();
    if (reader.failed() || amount >= amounts.size()) return false;
    amounts[amount].granted.push_back(use);
  }
  return !reader.failed();
}

}  // namespace

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
  if (!reader.failed() && !reader.at_end()) lease.marker_entity = reader.text();
  if (!reader.failed() && !reader.at_end()) {
    for (detail::LeaseAmount& amount : lease.amounts) amount.holds = reader.number<std::uint8_t>();
  }
  if (!reader.failed() && !reader.at_end() && !read_granted(reader, lease.amounts)) return std::nullopt;
  if (!reader.at_end() || lease.buckets.size() > limits::max_chain) return std::nullopt;
  return lease;
}

std::optional<detail::LeaseData> decode_lease(std::string_view id, std::string_view name_space,
                                              const store::LeaseKey& key) {
  if (id.size() > max_lease_id || !id.starts_with(prefix)) return std::nullopt;
  const auto bytes = base::from_base64url(id.substr(prefix.size()));
  if (!bytes || bytes->size() < mac_size) return std::nullopt;
  const std::string_view payload = std::string_view(*bytes).substr(mac_size);
  const Mac mac = mac_of(payload, key);
  if (CRYPTO_memcmp(mac.data(), bytes->data(), mac_size) != 0) return std::nullopt;
  return parse_lease_payload(payload, name_space);
}

std::optional<Time> deadline_of(std::string_view id) {
  if (id.size() > max_lease_id || !id.starts_with(prefix)) return std::nullopt;
  const auto bytes = base::from_base64url(id.substr(prefix.size()));
  if (!bytes || bytes->size() < mac_size) return std::nullopt;
  Reader reader(std::string_view(*bytes).substr(mac_size));
  reader.number<std::uint64_t>();
  reader.number<std::uint64_t>();
  const Time deadline = reader.number<Time>();
  return reader.failed() ? std::nullopt : std::optional(deadline);
}

}  // namespace weir::limiter
