// Mutations of what a machine is told and of the markers that it writes, of chains, and of clocks.
#include <algorithm>
#include <optional>
#include <vector>

#include "mutation_parts.h"
#include "mutations.h"
#include "scenario.h"

namespace weir::model {
namespace {

using conditional::Event;
using conditional::Marker;
using conditional::Write;

void unknown_as_not_applied(Event& event) {
  if (event.kind == Event::Kind::unknown) event.kind = Event::Kind::not_applied;
}

}  // namespace

std::vector<Mutation> outcome_mutations() {
  return {
      // Outcomes.
      {.name = "refused-by-an-old-image", .batch = "A1", .trusts_images = true},
      {.name = "resent-without-marker", .batch = "D3", .heard = &unknown_as_not_applied},
      {.name = "refused-without-fence", .batch = "D1", .heard = &unknown_as_not_applied},
      {.name = "fence-not-written",
       .batch = "D1",
       .sent =
           [](Sent sent, const Grounds&) {
             if (sent.marker && sent.marker->next.fence) sent.marker.reset();
           }},
      {.name = "marker-without-condition",
       .batch = "D4",
       .delivered =
           [](Sent sent, const std::optional<Marker>& there) {
             if (!sent.marker) return;
             sent.marker->sequence.reset();
             sent.marker->require(there);
           }},
      {.name = "marker-not-written",
       .batch = "D4",
       .sent = [](Sent sent, const Grounds&) { sent.marker.reset(); }},
      {.name = "marker-not-read",
       .batch = "D6",
       .heard =
           [](Event& event) {
             if (event.kind == Event::Kind::seen && event.marker.known) event.marker.item.reset();
           }},
      {.name = "repeat-binds-to-the-successor",
       .batch = "T1",
       .heard =
           [](Event& event) {
             if (!event.marker.item || event.images.empty() || !event.images[0].item) return;
             event.marker.item->generations[0] = event.images[0].item->generation;
           }},
      {.name = "refusal-makes-no-bucket",
       .batch = "P2",
       .sent =
           [](Sent sent, const Grounds&) {
             if (consumed(sent) == 0)
               std::erase_if(sent.writes, [](const Write& w) { return w.path == Path::create; });
           }},
      {.name = "refusal-charges",
       .batch = "P2",
       .sent =
           [](Sent sent, const Grounds&) {
             each(sent, Path::create, [](Write& w) { w.item->limits[0].tokens -= 1; });
           }},

      // The chain.
      {.name = "made-without-asking-for-the-parent",
       .batch = "M1",
       .sent =
           [](Sent sent, const Grounds&) {
             if (std::any_of(sent.writes.begin(), sent.writes.end(), [](const Write& w) { return w.item; }))
               sent.links.clear();
           }},
      {.name = "charged-under-another-parent",
       .batch = "M1",
       .sent =
           [](Sent sent, const Grounds&) {
             if (std::none_of(sent.writes.begin(), sent.writes.end(), [](const Write& w) { return w.item; }))
               sent.links.clear();
           }},
      {.name = "moved-without-a-fence", .batch = "M1", .moves_blindly = true},
      {.name = "one-item-of-the-chain",
       .batch = "F1",
       .sent =
           [](Sent sent, const Grounds&) {
             if (sent.writes.size() > 1) sent.writes[1].limits.clear();
           }},

      // Clocks.
      {.name = "debit-in-the-past", .batch = "A1", .clock = [](Time now) { return now - 1; }},
      {.name = "stamp-in-the-past", .batch = "H1", .stamp_late = 1},
      {.name = "allowance-for-skew", .batch = "E2", .world = [](Scenario& world) { world.allowance = 1; }},
      {.name = "allowance-for-delay", .batch = "E3", .world = [](Scenario& world) { world.allowance = 2; }},
      {.name = "refill-of-the-future-stays",
       .batch = "R1",
       .world = [](Scenario& world) { world.settings.most_ahead = 0; }},
  };
}

}  // namespace weir::model
