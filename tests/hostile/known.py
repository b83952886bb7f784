"""Checks of schemathesis that fail, each with its reason. This table may only become shorter."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Known:
    check: str
    operation: str  # a regular expression for the method and the path
    status: int
    answer: str  # a regular expression in "type: detail"
    reason: str
    callers: tuple = ("none", "alice", "dash")


KNOWN = []
