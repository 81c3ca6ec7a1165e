// Whose files a policy spares.
#pragma once

#include "core/error.h"
#include "stage/retention/policy.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::stage {

// As whose a file is shown whose owner is not known here: the kernel's overflow user of a user namespace and
// of NFS (/proc/sys/kernel/overflowuid), and that of NFS before it had 32 bits.
inline bool is_unknown_owner(uint32_t user) {
    return user == 65534 || user == 4294967294U;
}

struct SparedUsers {
    std::set<uint32_t> exempt = {};
    std::optional<std::set<uint32_t>> only = {};  // nobody else's go
    std::vector<uint32_t> numbers = {};           // of `exempt`, those that nobody's name stands for

    // An unknown owner may be one that is exempt.
    bool spares(uint32_t user) const {
        if (only && !only->contains(user)) return true;
        return exempt.contains(user) || (is_unknown_owner(user) && !exempt.empty() && !only);
    }
};

// Users that nobody knows, or that cannot be looked up now, protect nobody: so they are errors. A number may
// be somebody's name, too: of `exempt_users` both are spared, in `users` it is an error. Errors: kBadInput;
// kSystem. `id_of` is core::user_id().
core::Result<SparedUsers> find_spared(const RetentionPolicy& policy,
                                      const std::function<core::Result<uint32_t>(const std::string&)>& id_of);
core::Result<SparedUsers> find_spared(const RetentionPolicy& policy);

}  // namespace belay::stage
