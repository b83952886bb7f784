// The command that copies a store.
#include "cli/tree.h"

namespace weir::cli {

void add_store_copy(Tree& tree, CLI::App& store) {
  Arguments& arguments = tree.arguments;
  CLI::App& app = tree.command(
      store, "copy",
      "Copy limits, plans, entities, buckets, leases, usage and the audit into an empty store, with the key "
      "of "
      "the leases, so that these stay valid. Overwrites nothing, goes on where an earlier run was stopped, "
      "and "
      "compares both stores at the end: exits with 1 if they differ. Nothing may use either store meanwhile. "
      "Copies every namespace, or the one of --namespace. Not copied are decision logs and, into DynamoDB, "
      "idempotency keys of entities that have no limits of their own.",
      store_copy,
      {.usage = "--from URL --to URL [OPTION...]",
       .examples =
           "weir store copy --from sqlite:weir.db --to redis://127.0.0.1:6379\n"
           "weir store copy --from redis://127.0.0.1:6379 --to 'dynamodb://weir?region=eu-central-1'\n"
           "weir store copy --from dynamodb://weir --to sqlite:acme.db --namespace acme",
       .reach = Reach::here});
  add_value(app, "--from", arguments.copy_from, "URL", "The store to copy; it stays as it is")->required();
  add_value(app, "--to", arguments.copy_to, "URL",
            "The empty store to copy into; a table of DynamoDB is made by weir store init")
      ->required();
}

}  // namespace weir::cli
