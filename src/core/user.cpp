#include "core/user.h"

#include "core/text.h"
#include "core/utf8.h"
#include "core/work.h"

#include <atomic>
#include <cerrno>
#include <pwd.h>
#include <vector>

namespace belay::core {

namespace {

constexpr Duration kLongestAnswer = std::chrono::seconds(10);
constexpr size_t kUsualRoom = 4096;
constexpr size_t kMostRoom = size_t{16} << 20;

Result<std::string> ask_for_name(uid_t user) {
    passwd entry{};
    passwd* found = nullptr;
    std::string name = std::to_string(user);
    const int reason = ask_with_room([&](char* buffer, size_t bytes) {
        const int result = getpwuid_r(user, &entry, buffer, bytes, &found);
        if (result == 0 && found != nullptr) name = found->pw_name;
        return result;
    });
    if (reason != 0) return errno_error(reason, fmt::format("cannot look up user {}", user));
    return name;
}

Result<std::string> ask_for_id(const std::string& name) {
    passwd entry{};
    passwd* found = nullptr;
    const int reason = ask_with_room(
        [&](char* buffer, size_t bytes) { return getpwnam_r(name.c_str(), &entry, buffer, bytes, &found); });
    if (reason != 0) return errno_error(reason, fmt::format("cannot look up user {}", printable(name)));
    if (found != nullptr) return std::to_string(entry.pw_uid);
    return bad_input("there is no user {}", printable(name)).because(Cause::kNotFound);
}

}  // namespace

int ask_with_room(const std::function<int(char* buffer, size_t bytes)>& call) {
    std::vector<char> buffer(kUsualRoom);
    int answer = call(buffer.data(), buffer.size());
    while (answer == ERANGE && buffer.size() < kMostRoom) {
        buffer.resize(4 * buffer.size());
        answer = call(buffer.data(), buffer.size());
    }
    return answer;
}

Result<uid_t> user_id(const std::string& name) {
    BELAY_TRY(id, run_within(kLongestAnswer, {.what = "the name service"}, [&] { return ask_for_id(name); }));
    const auto number = parse_number<uint32_t>(id);
    if (!number) return system_error("cannot look up user {}: the answer is \"{}\"", printable(name), id);
    return *number;
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
