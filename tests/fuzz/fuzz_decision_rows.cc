// Rows of a decision log. One that is read can be written again, and reads as the same.
#include <cstdlib>
#include <string>
#include <string_view>

#include "decision_log/entry_json.h"
#include "decision_log/row.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  using namespace weir::decision_log;
  std::string_view rows(reinterpret_cast<const char*>(data), size);
  while (const auto head = take_row(rows)) {
    const auto entry = read_entry(*head);
    if (!entry) continue;
    std::vector<Charge> charges;
    for (const auto& [name, amount] : entry->charges) charges.push_back({name, amount});
    std::string again;
    append_row(again, entry->number,
               {.at = entry->at,
                .kind = entry->kind,
                .outcome = entry->outcome,
                .name_space = entry->name_space,
                .entity = entry->entity,
                .resource = entry->resource,
                .request_id = entry->request_id,
                .charges = charges,
                .every = entry->every,
                .sent_limits = entry->sent_limits,
                .report = &entry->report,
                .wait = entry->wait,
                .never_fits = entry->never_fits,
                .from_memory = entry->from_memory,
                .keyed = entry->keyed,
                .shadow = entry->shadow,
                .no_debt = entry->no_debt,
                .lease_for = entry->lease_for,
                .lease = entry->lease,
                .more = entry->more});
    std::string_view copy = again;
    const auto second = take_row(copy);
    const auto read = second ? read_entry(*second) : std::nullopt;
    if (!read || to_json(*read) != to_json(*entry)) std::abort();
  }
  return 0;
}
