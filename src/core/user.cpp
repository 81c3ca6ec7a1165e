#include "core/user.h"

#include "core/work.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <pwd.h>

namespace belay::core {

namespace {

constexpr Duration kLongestAnswer = std::chrono::seconds(10);

Result<std::string> ask_for_name(uid_t user) {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 4096> buffer{};
    const int reason = getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
    if (reason != 0) return errno_error(reason, fmt::format("cannot look up user {}", user));
    return found != nullptr ? std::string(found->pw_name) : std::to_string(user);
}

}  // namespace

std::string user_name(uid_t user) {
    static std::atomic<bool> is_silent = false;
    if (is_silent) return std::to_string(user);
    const auto name =
        run_within(kLongestAnswer, {.what = "the name service"}, [&] { return ask_for_name(user); });
    if (!name && name.error().cause() == Cause::kTimedOut) is_silent = true;
    return name.value_or(std::to_string(user));
}

}  // namespace belay::core
