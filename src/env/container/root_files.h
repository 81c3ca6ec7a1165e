// Files of the container that must know the host.
#pragma once

#include "core/error.h"

#include <filesystem>
#include <functional>
#include <grp.h>
#include <pwd.h>
#include <string_view>

namespace belay::env {

// Injected, since no test has a name service that fails.
struct AccountService {
    std::function<int(uid_t, passwd*, char*, size_t, passwd**)> user = getpwuid_r;
    std::function<int(gid_t, group*, char*, size_t, group**)> group = getgrgid_r;
};

// Adds the user and group to etc/passwd and etc/group below `root` where they are missing, with what the host
// knows of them, so that programs can tell who they run as. Links in the image are followed within `root`
// only. An image without these files stays without. Errors: kSystem, also where the name service fails: a
// task that does not know its own name fails later and says nothing of that.
core::Result<> name_user(const std::filesystem::path& root, unsigned user, unsigned group,
                         const AccountService& service = {});

// Whether one of the lines "name:password:ID:…" has the number.
bool names_id(std::string_view lines, unsigned id);

}  // namespace belay::env
