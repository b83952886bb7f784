// Marks the symbols that a shared library exports. Not part of the public API.
#pragma once

#define WEIR_API __attribute__((visibility("default")))
