#include "server/login/munge_payload.h"

#include "core/hash.h"
#include "core/text.h"

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace belay::server {

namespace {

constexpr std::string_view kPayloadVersion = "belayd/1";
constexpr std::string_view kBase64Letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kLongestMungeText = 8192, kLongestPayload = 1024;

core::Failure not_for_this(std::string_view why) {
    return core::negative("{}", why).because(core::Cause::kDenied);
}

int64_t unix_seconds(core::Time time) {
    return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

std::string munge_payload(const MungeRequest& request, core::Time now) {
    return fmt::format("{} {} {} {} {}", kPayloadVersion, request.host, request.method,
                       core::to_hex(core::sha256(request.path)), unix_seconds(now));
}

core::Result<> check_munge_payload(std::string_view payload, const MungeRequest& request, core::Time now) {
    if (payload.size() > kLongestPayload) return not_for_this("its text is too long");
    const auto words = core::split(payload, ' ');
    if (words.size() != 5 || words[0] != kPayloadVersion)
        return not_for_this("its text is not one for belayd");
    if (request.host.empty() || words[1] != request.host) return not_for_this("it is for another server");
    if (words[2] != request.method) return not_for_this("it is for another method");
    if (words[3] != core::to_hex(core::sha256(request.path))) return not_for_this("it is for another path");
    const auto seconds = core::parse_number<uint32_t>(words[4]);  // until 2106
    if (!seconds) return not_for_this("its time is not a number");
    const core::Duration age = now.time_since_epoch() - std::chrono::seconds(*seconds);
    if (age > kMungeWindow || age < -kMungeWindow)
        return not_for_this("it was made too long ago, or in the future");
    return {};
}

bool is_munge_text(std::string_view text) {
    constexpr std::string_view kBegin = "MUNGE:", kEnd = ":";
    if (text.size() > kLongestMungeText || !text.starts_with(kBegin) || !text.ends_with(kEnd)) return false;
    if (text.size() < kBegin.size() + kEnd.size()) return false;
    text.remove_prefix(kBegin.size());
    text.remove_suffix(kEnd.size());
    const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    if (text.empty() || text.size() % 4 != 0) return false;
    text.remove_suffix(padding);
    if (text.find_first_not_of(kBase64Letters) != std::string_view::npos) return false;
    // RFC 4648, section 3.5: of the last letter four bits are left over where two "=" follow, and two where one does.
    const size_t spare = padding == 2 ? 0xF : padding == 1 ? 0x3 : 0;
    return (kBase64Letters.find(text.back()) & spare) == 0;
}

}  // namespace belay::server
