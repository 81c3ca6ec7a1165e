// Verdicts for people.
#pragma once

#include "vet/verdict.h"

#include <string>
#include <vector>

namespace belay::vet {

// "before-training: pass: 2 of 2 nodes are fit"; with nodes that are not: "…; not fit: n3".
std::string summary(const Verdicts& verdicts);

// Why nodes were refused, a line for every cause: "n[2-3]: memory (mem.free): fail: 3 GiB available, 64 GiB
// wanted". Nodes with the same cause stand together. At most `limit` lines, then one with the number of the
// rest.
std::vector<std::string> refusals(const Verdicts& verdicts, size_t limit = 20);

// What did not pass but refuses nobody, in the same form: "n1: warning: memory (mem.free): fail: …".
std::vector<std::string> warnings(const Verdicts& verdicts, size_t limit = 20);

// "4.00 MiB", "1.23 GB/s", "0.512 ms", "84.2 %", "3 messages"; "-" without a value.
std::string value_text(const CheckResult& check);

}  // namespace belay::vet
