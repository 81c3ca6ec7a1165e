// What the vet commands print for people.
#pragma once

#include "vet/protocol.h"
#include "vet/verdict.h"

#include <cstdio>
#include <string>

namespace belay::cli {

// A table of checks and a line with the verdict. Of many nodes only checks that did not pass are shown.
std::string verdicts_text(const vet::Verdicts& verdicts);

// The protocol, or its mistake with place and caret. Warnings go to standard error, where `show_warnings`.
core::Result<vet::Protocol> load_protocol(const std::string& path, bool show_warnings);

}  // namespace belay::cli
