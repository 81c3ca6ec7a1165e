#include "core/user.h"

#include "core/text.h"
#include "core/utf8.h"
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

Result<std::string> ask_for_id(const std::string& name) {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 4096> buffer{};
    const int reason = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (reason != 0) return errno_error(reason, fmt::format("cannot look up user {}", printable(name)));
    if (found != nullptr) return std::to_string(found->pw_uid);
    return bad_input("there is no user {}", printable(name)).because(Cause::kNotFound);
}

}  // namespace

Result<uid_t> user_id(const std::string& name) {
    BELAY_TRY(id, run_within(kLongestAnswer, {.what = "the name service"}, [&] { return ask_for_id(name); }));
    return static_cast<uid_t>(parse_number<uint32_t>(id).value_or(0));
}

std::string user_name(uid_t user) {
    static std::atomic<bool> is_silent = false;
    if (is_silent) return std::to_string(user);
    const auto name =
        run_within(kLongestAnswer, {.what = "the name service"}, [&] { return ask_for_name(user); });
    if (!name && name.error().cause() == Cause::kTimedOut) is_silent = true;
    return name.value_or(std::to_string(user));
}

}  // namespace belay::core
