// Hostlist expressions, Slurm's short form of many node names: "n[1-3,07-09],gpu[01-02]-x[1-2]".
//
// What a name is and how names are folded follows `scontrol show hostnames` and `scontrol show hostlist`
// (src/common/ hostlist.c of Slurm 22.05, observed): elements stand between commas, blanks or newlines; empty
// ones are skipped; repeated names stay; order stays; a range counts with at least as many digits as its
// lower end; of several brackets the last varies fastest, then the first, the second, …; nothing may follow
// the last bracket. Where scontrol guesses ("n[1-", "n[1-]", "n[+1]", "n1]", numbers beyond 64 bits) this
// refuses.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::slurm {

// Bounds on what an expression from outside can make us hold: 2^20 names (scontrol: 65536 per range) of a
// domain name's length.
inline constexpr size_t kMaxHosts = size_t{1} << 20;
inline constexpr size_t kMaxHostNameBytes = 255;

// The names an expression stands for; none for an empty one. `origin` names the text in errors
// ("SLURM_JOB_NODELIST"). Errors: kBadInput, with the place in the text.
core::Result<std::vector<std::string>> expand(std::string_view text, std::string_view origin = "hostlist");

// The shortest form that scontrol would print: neighbours whose trailing numbers follow each other become
// ranges. expand(compress(names)) == names. Errors: kBadInput if a name is empty, too long, or holds a comma,
// a blank or a bracket.
core::Result<std::string> compress(std::span<const std::string> names);

}  // namespace belay::slurm
