// The commands that read decision logs, their options and examples.
#include "cli/tree.h"

namespace weir::cli {

void add_decision_commands(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& why = tree.command(
      tree.root, "explain",
      "Say why a request was refused: what it asked for, what each limit held, which limit of which entity "
      "refused, when it would have passed, who had used it before, and which command changes it.",
      explain,
      {.usage = "(ID | --entity E [--resource R] [--at TIME]) [OPTION...]",
       .examples = "weir explain 4f2a9c1e-1842 --server http://127.0.0.1:8080\n"
                   "weir explain --entity key-7 --at 10:03\n"
                   "weir explain --entity key-7 --resource gpt-4 --log /var/lib/weir/weir.db-decisions"});
  add_argument(why, "ID", arguments.decision,
               "The id of a decision, from the header Weir-Decision or the body of a refusal");
  add_value(why, "--entity", arguments.entity, "ENTITY", "A refusal of this entity");
  add_value(why, "--resource", arguments.resource, "RESOURCE", "On this resource");
  add_value(why, "--at", arguments.at, "TIME",
            "In this minute or second: 10:03 or 10:03:12 of UTC, 5min ago, or 2026-11-17T10:03:12Z (default: "
            "the last refusal)");
  add_value(why, "--log", arguments.log_file, "FILE", "Read the file of a decision log");
  CLI::App& other = tree.command(
      tree.root, "what-if",
      "Say who would have been refused how often under another limits file: replays a decision log that "
      "keeps "
      "all decisions. Changes nothing. With --store or --server, limits that FILE does not name are taken "
      "from "
      "there.",
      what_if,
      {.examples =
           "weir what-if halved.yaml --log weir.db-decisions\n"
           "weir what-if halved.yaml --log weir.db-decisions --server http://127.0.0.1:8080 -o json"});
  other.add_option("FILE", arguments.file, "The limits file, YAML or JSON; - reads from stdin")
      ->required()
      ->type_name("FILE");
  add_value(other, "--log", arguments.log_file, "FILE",
            "The file of the decision log (default: beside the file of a sqlite: store)");
}

}  // namespace weir::cli
