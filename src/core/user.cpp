#include "core/user.h"

#include <array>
#include <pwd.h>

namespace belay::core {

std::string user_name(uid_t user) {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 4096> buffer{};
    if (getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
        return found->pw_name;
    return std::to_string(user);
}

}  // namespace belay::core
