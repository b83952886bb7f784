"""Checks of schemathesis that fail, each with its reason. This table may only become shorter."""
import dataclasses

STATE = "depends on what is stored, which no description of the API can say"
BETWEEN = "a rule between members: OpenAPI 3.0 could say it only with a schema for each case"
MEMBERS = "OpenAPI 3.0 has no patterns for the names of members"
DECIMALS = "multipleOf: 0.001 would say it, but programs compute it in binary and refuse 1.1"
CURSOR = "a cursor that the service never gave out"
PARAMETERS = "JSON in a parameter is text for OpenAPI 3.0"


@dataclasses.dataclass(frozen=True)
class Known:
    check: str
    operation: str  # a regular expression for the method and the path
    status: int
    answer: str  # a regular expression in "type: detail"
    reason: str


def refused(operation, status, answer, reason):
    return Known("positive_data_acceptance", operation, status, answer, reason)


SET = r"PUT /v1/limits/.*|PUT /v1/plans/.*|POST /v1/changes"
GIVEN = rf"{SET}|POST /v1/acquire|GET /v1/available"  # calls with limits in them
CHARGES = r"POST /v1/(acquire|leases/\{lease\}/(adjust|settle))"

KNOWN = [
    refused(r"PUT /v1/entities/\{entity\}/(block|exempt)|POST /v1/changes", 422, "^invalid-argument: .*the end (of the rule|is not a moment)",
            "the schema cannot say that a moment must be in the future"),
    refused(r"PUT /v1/entities/\{entity\}/(block|exempt)|POST /v1/changes", 422, "the reason must be one line of UTF-8 text",
            "a pattern could say it, but its end also matches before a line feed in some programs"),
    refused("GET /v1/audit", 422, "the range of the audit is empty", "the schema cannot compare two parameters"),
    refused("GET /v1/decisions", 422, "(from must be before to|the cursor is not one of)", "the schema cannot compare two parameters"),
    refused("GET /v1/decisions", 400, "(cursor must be|is empty; leave it out)", "a cursor is what a page before said"),
    refused(r"GET /v1/decisions/\{decision\}", 422, "is not the id of a decision", "ids are made by the service"),
    refused("GET /v1/buckets", 400, "below must be a percentage", "an example of a mistake"),
    refused(r"POST /v1/entities/\{entity\}/grants", 422, "^no-limits: ", STATE),
    refused(r"POST /v1/entities/\{entity\}/grants", 422, "(is not in force for this entity|is concurrent, and has no balance)", STATE),
    refused(r"POST /v1/entities/\{entity\}/grants", 422, "(limit name .*(is empty|has a character|does not start|is longer)|too large in sum)", MEMBERS),
    refused(r"POST /v1/entities/\{entity\}/grants", 422, "amount .* (has more than three decimals|is not a number in range)", DECIMALS),
    # The service is wrong.
    Known("use_after_free", r"DELETE /v1/entities/\{entity\}", 200, r'"(children|buckets)":\[\]',
          "listings of an entity that is not stored are empty, as entities need not be stored"),
    # schemathesis is wrong.
    refused(r"GET /v1/authorize", 400, '^malformed: consume "0": ', "0 is sent as Weir-Consume, though its pattern excludes it"),
    # Nothing that a description of the API could say.
    Known("negative_data_rejection", "GET /v1/authorize", 200, "",
          "a header is not read where the query says the same: clients may send it, the query is the proxy's"),
    refused(r"POST /v1/acquire|GET /v1/(authorize|available|limits/effective)", 422, "^no-limits: ", STATE),
    refused(rf"{CHARGES}|GET /v1/(authorize|available)", 422, "^unknown-limit: ", STATE),
    refused(r"GET /v1/(audit|entities.*|limits|plans.*|usage)", 400, "^malformed: cursor must be", CURSOR),
    refused(r"GET /v1/usage", 422, "cursor must be what the page before returned", CURSOR),
    refused(r"GET /v1/usage", 422, "usage is read of an entity", BETWEEN),
    refused(r"GET /v1/usage", 422, "from must be before to", BETWEEN),
    refused(r"GET /v1/usage", 400, "^malformed: (top is one answer without pages|by orders the top)", BETWEEN),
    refused(r"GET /v1/authorize", 422, "^invalid-argument: (entity|resource) is empty", "each stands in the query or in a header"),
    refused(r"GET /v1/authorize", 422, "^invalid-argument: the request names no limit", "it stands in the query or in a header"),
    refused(r"GET /v1/available", 400, "^malformed: limits is not JSON", PARAMETERS),
    refused(r"GET /v1/available", 422, "^invalid-argument: .*: limit ", PARAMETERS),
    refused(r"PUT /v1/entities/\{entity\}", 422, "^invalid-argument: the body is of another entity", BETWEEN),
    refused(r"POST /v1/changes|PUT /v1/entities/\{entity\}", 422, "has cascade on but no parent", BETWEEN),
    refused(r"POST /v1/changes", 422, "level .* is named by .*, no less and no more", BETWEEN),
    refused(SET, 422, "only an entity's limits can be owned by sync", BETWEEN),
    refused(SET, 422, "limits owned by sync need an expiry", BETWEEN),
    refused(SET, 422, "an operator's limits do not expire", BETWEEN),
    refused(SET, 422, "(on_unavailable|bucket_ttl_refill_multiplier) belongs to the system's limits", BETWEEN),
    refused(SET, 422, "usage belongs to the limits of a resource or of the system", BETWEEN),
    refused(GIVEN, 422, r": limit .*: burst [\d.]+ is less than capacity", BETWEEN),
    refused(GIVEN, 422, r": limit .*: (capacity 0 blocks|refill_amount is 0)", BETWEEN),
    refused(GIVEN, 422, r": limit .*: a concurrent limit (does not refill|has no burst)", BETWEEN),
    refused(GIVEN, 422, "concurrent limits together", BETWEEN),
    refused(r"PUT /v1/entities/\{entity\}|POST /v1/changes", 422, "names plan .*, which does not exist", STATE),
    refused(r"PUT /v1/plans/\{plan\}", 422, "^invalid-argument: the body is of another plan", BETWEEN),
    refused(SET, 422, r"resources .*: field .* is not known here", "a set is the limits themselves, or has them beside others"),
    refused(SET, 422, r"limit .(inherit|mode|limits). must be text", "a set is the limits themselves, or has them beside others"),
    refused(rf"{SET}|{CHARGES}", 422, "limit name .*(is empty|has a character|does not start|is longer)", MEMBERS),
    refused(SET, 422, "no limits given; name at least one", "an acquire may give none, with the same schema"),
    refused(r"POST /v1/acquire", 422, "the request names no limit", "a settle may name none, with the same schema"),
    refused(rf"{GIVEN}|{CHARGES}", 422, "amount .* (has more than three decimals|is not a number in range)", DECIMALS),
]
