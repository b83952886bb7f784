// Most bounds on input from outside, and on memory that grows with it, in one place so that they can be read
// and compared. The room that enforces a bound explains it if a line is not enough. Some bounds of a single
// format are in the header of the format: sync/snapshot.h, wire/resp.h (ReplyLimits), llm/event_stream.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::maxima {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = kib * 1024;

// Names and records: a larger one is refused.
inline constexpr std::size_t limits = 16;            ///< in force for one bucket
inline constexpr std::size_t limits_kept = 32;       ///< in the state of a bucket, dormant ones included
inline constexpr std::size_t concurrent_limits = 2;  ///< in force for one bucket
inline constexpr std::size_t holds = 16;             ///< of one concurrent limit of a bucket
inline constexpr std::size_t grants = 4;             ///< of one rate limit of a bucket
inline constexpr std::size_t grant_uses = 256;       ///< that a lease notes of one limit
inline constexpr std::size_t chain = 8;              ///< entities, the charged one included
inline constexpr std::size_t charges = 64;           ///< in one request
inline constexpr std::size_t entity = 256;           ///< bytes of a name, as the next two
inline constexpr std::size_t resource = 128;         ///< and of the name of a plan
inline constexpr std::size_t name_space = 32;
inline constexpr std::size_t adjust_key = 128;
inline constexpr std::size_t plan_resources = 100;  ///< with sets of their own in one plan, removed ones too
inline constexpr std::size_t entity_text =
    1024;  ///< bytes of an entity's description, and of one entry of its metadata
inline constexpr std::size_t metadata = 64;        ///< entries
inline constexpr std::size_t access_rules = 32;    ///< of one entity
inline constexpr std::size_t access_reason = 256;  ///< bytes
inline constexpr std::size_t adjusts = 1024;       ///< of one lease
inline constexpr std::size_t lease_id = 16'384;    ///< bytes

// Requests to the service, and answers of it.
inline constexpr std::size_t body = mib;
inline constexpr std::size_t changes_body = 64 * mib;
inline constexpr std::size_t changes = 1'000'000;
inline constexpr std::size_t page = 1000;               ///< items of a listing
inline constexpr std::size_t top_usage = 100;           ///< of who used the most
inline constexpr std::size_t namespaces = 10'000;       ///< that are listed
inline constexpr std::size_t sorted_buckets = 100'000;  ///< that one listing sorts
inline constexpr std::size_t read_for_a_page = 10'000;  ///< of a listing with a filter, before the page ends
inline constexpr std::size_t request_id = 128;
inline constexpr std::size_t json_depth = 64;
inline constexpr std::size_t json_members = 256;  ///< of one object
inline constexpr std::size_t answer_elements = 10'000;
inline constexpr std::size_t query_parameters = 64;
inline constexpr std::size_t waiters_of_a_bucket = 4096;  ///< requests that wait for it to refill
inline constexpr std::size_t waiters = 65'536;            ///< in all

// HTTP.
inline constexpr std::size_t start_line = 8 * kib;
inline constexpr std::size_t head = 32 * kib;
inline constexpr std::size_t fields = 100;
inline constexpr std::size_t chunk_extensions = kib;
inline constexpr std::size_t trailer = 8 * kib;
inline constexpr unsigned connections = 10'000;
inline constexpr std::size_t unsent_answers = 256 * kib;  ///< of one connection
inline constexpr std::size_t unsent_requests = 64 * kib;  ///< to an upstream or a store
inline constexpr std::size_t discarded_body = 64 * kib;   ///< of a refused request
// Of a request to a model; the rest of a larger one is only passed on.
inline constexpr std::size_t llm_body = mib;
inline constexpr std::size_t llm_bodies = 512 * mib;    ///< the same, of all requests of a gateway together
inline constexpr unsigned new_models = 1000;            ///< that no vendor had answered for, in ten minutes
inline constexpr unsigned new_models_of_address = 100;  ///< of them from one address

// Files.
inline constexpr std::size_t limits_file = 64 * mib;
inline constexpr std::size_t yaml_nodes = 8'000'000;
inline constexpr std::size_t yaml_depth = 32;  ///< the files need 8
inline constexpr std::size_t routes = 10'000;  ///< of a gateway
inline constexpr std::size_t credentials_file = mib;

// The decision log.
inline constexpr std::size_t decision_row = 64 * kib;
inline constexpr std::size_t decision_block = 16 * mib;  ///< that is read; written ones are far smaller

// Usage: more are read in parts.
inline constexpr std::size_t usage_ranked = 65'536;  ///< entities whose sums are compared at a time
inline constexpr std::size_t usage_children = 100;   ///< of a parent, whose usage is read for one page

// What stores send.
inline constexpr unsigned attribute_depth = 32;  ///< of a value of DynamoDB

// Memory that is kept to be faster.
inline constexpr std::size_t cached_entities = 200'000;
inline constexpr std::size_t cached_records = 200'000;
inline constexpr std::size_t cached_resources = 1'000;  ///< of one entity
inline constexpr std::size_t remembered_buckets = 200'000;
inline constexpr std::size_t shared_resolutions = 4096;
inline constexpr std::size_t model_names = 1000;  ///< of language models that a vendor has answered for
inline constexpr std::size_t cores = 4096;        ///< of pairs of caller and namespace

}  // namespace weir::maxima
