#include "state.h"

namespace weir::model {
namespace {

using conditional::Acquire;
using conditional::AcquireOutcome;
using conditional::Change;
using conditional::ChangeOutcome;

Verdict verdict_of(const Acquire& machine) {
  switch (machine.outcome().kind) {
    case AcquireOutcome::Kind::admitted:
      return Verdict::done;
    case AcquireOutcome::Kind::refused:
      return Verdict::refused;
    case AcquireOutcome::Kind::stale:
      return Verdict::none;
    case AcquireOutcome::Kind::contention:
      return Verdict::contention;
    case AcquireOutcome::Kind::unknown:
      return Verdict::unknown;
  }
  return Verdict::none;
}

Verdict verdict_of(const Change& machine) {
  switch (machine.outcome().kind) {
    case ChangeOutcome::Kind::changed:
      return Verdict::done;
    case ChangeOutcome::Kind::refused:
      return Verdict::refused;
    case ChangeOutcome::Kind::stale:
      return Verdict::none;
    case ChangeOutcome::Kind::contention:
      return Verdict::contention;
    case ChangeOutcome::Kind::unknown:
      return Verdict::unknown;
  }
  return Verdict::none;
}

Verdict verdict_of(const Adoption& /*machine*/) { return Verdict::done; }

}  // namespace

Verdict verdict_of(const Machine& machine) {
  return std::visit([](const auto& kind) { return verdict_of(kind); }, machine);
}

}  // namespace weir::model
