// An event of the audit as a sentence. Pure functions.
#pragma once

#include <string>

#include "weir/catalog.h"

namespace weir::cli {

/// "entity key-1 on gpt-4", "plan pro", "resource gpt-4", "the system".
std::string subject_text(const AuditEvent& event);

/// "set the limits of resource gpt-4: rpm from 100/min to 50/min, tpm 5000/min is new", without the
/// principal and the time.
std::string sentence_of(const AuditEvent& event);

}  // namespace weir::cli
