// Marks what a shared library shows. Not part of the public promise.
#pragma once

#define WEIR_API __attribute__((visibility("default")))
