#include "scenario.h"

namespace weir::model {
namespace {

const char* name_of(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::acquire:
      return "acquire";
    case Operation::Kind::adjust:
      return "adjust";
    case Operation::Kind::extend:
      return "extend";
    case Operation::Kind::settle:
      return "settle";
    case Operation::Kind::rollback:
      return "rollback";
    case Operation::Kind::store_limits:
      return "store limits";
    case Operation::Kind::alter:
      return "alter";
    case Operation::Kind::forget:
      return "forget";
    case Operation::Kind::move:
      return "move";
    case Operation::Kind::abandon_move:
      return "abandon a move";
  }
  return "?";
}

}  // namespace

std::string Operation::text() const {
  std::string text = name_of(kind);
  const bool sets =
      kind == Kind::store_limits || kind == Kind::alter || kind == Kind::move || kind == Kind::abandon_move;
  if (sets) return text + " " + std::to_string(set);
  for (const int amount : amounts) text += amount == unnamed ? " -" : " " + std::to_string(amount);
  if (lease_for != limits::never) text += " for " + std::to_string(lease_for);
  if (cached) return text + (once ? " (from the last image, once)" : " (from the last image)");
  return text + (once ? " (once)" : "");
}

Operation acquire(int first, int second) {
  Operation operation;
  operation.amounts = {first, second};
  return operation;
}

Operation cached(Operation operation) {
  operation.cached = true;
  return operation;
}

Operation once(Operation operation) {
  operation.once = true;
  return operation;
}

Operation unmarked(Operation operation) {
  operation.once = false;
  return operation;
}

Operation adjust(int first, int second) {
  Operation operation = acquire(first, second);
  operation.kind = Operation::Kind::adjust;
  operation.once = true;
  return operation;
}

Operation shared(Operation operation) {
  operation.lease = Operation::shared;
  return operation;
}

Operation of(int lease, Operation operation) {
  operation.lease = lease;
  return operation;
}

Operation lasting(Operation operation, int lease_for) {
  operation.lease_for = lease_for;
  return operation;
}

Operation extend(int lease, int lease_for) {
  Operation operation = rollback(lease);
  operation.kind = Operation::Kind::extend;
  return lasting(operation, lease_for);
}

Operation settle(int lease, int first, int second) {
  Operation operation = adjust(first, second);
  operation.kind = Operation::Kind::settle;
  operation.lease = lease;
  return operation;
}

Operation rollback(int lease) {
  Operation operation;
  operation.kind = Operation::Kind::rollback;
  operation.lease = lease;
  operation.once = true;
  return operation;
}

Operation alter(int set) {
  Operation operation;
  operation.kind = Operation::Kind::alter;
  operation.set = set;
  return operation;
}

Operation store_limits(int set) {
  Operation operation = alter(set);
  operation.kind = Operation::Kind::store_limits;
  return operation;
}

Operation move(int under) {
  Operation operation = alter(under);
  operation.kind = Operation::Kind::move;
  return operation;
}

Operation abandon_move(int under) {
  Operation operation = move(under);
  operation.kind = Operation::Kind::abandon_move;
  return operation;
}

Operation forget() {
  Operation operation;
  operation.kind = Operation::Kind::forget;
  return operation;
}

}  // namespace weir::model
