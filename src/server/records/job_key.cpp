#include "server/records/job_key.h"

#include "core/text.h"
#include "core/time.h"
#include "core/utf8.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace belay::server {

using core::Result;

namespace {

constexpr int64_t kLastSecond = 7'258'118'400;  // 2200-01-01: no job of Belay's is later

bool is_key_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

// The number behind the last "-" or ".", both taken off the text.
std::optional<int64_t> take_number(std::string_view& text, char mark) {
    const size_t at = text.rfind(mark);
    if (at == std::string_view::npos) return std::nullopt;
    const auto number = core::parse_number<int64_t>(text.substr(at + 1));
    text = text.substr(0, at);
    return number;
}

std::optional<JobKey> read_key(std::string_view text) {
    JobKey key;
    if (text.rfind('.') != std::string_view::npos && text.rfind('.') > text.rfind('-')) {
        const auto number = take_number(text, '.');
        if (!number || *number < 2) return std::nullopt;
        key.number = static_cast<uint64_t>(*number);
    }
    const auto seconds = take_number(text, '-');
    const auto restart = take_number(text, '-');
    const auto id = take_number(text, '-');
    if (!seconds || !restart || !id) return std::nullopt;
    if (*seconds < 0 || *seconds >= kLastSecond || *restart < 0 || *id < 0) return std::nullopt;
    key.cluster = text;
    key.id = *id;
    key.restart = *restart;
    key.seconds = *seconds;
    if (cluster_in_key(text) != text) return std::nullopt;
    return key;
}

}  // namespace

std::string cluster_in_key(std::string_view cluster) {
    if (cluster.empty()) return "unnamed";
    std::string name(cluster.substr(0, kLongestCluster));
    std::ranges::replace_if(name, [](char c) { return !is_key_letter(c); }, '_');
    if (name.front() == '.') name.front() = '_';
    return name;
}

std::string to_text(const JobKey& key) {
    std::string text = fmt::format("{}-{}-{}-{}", key.cluster, key.id, key.restart, key.seconds);
    if (key.number > 1) text += fmt::format(".{}", key.number);
    return text;
}

Result<JobKey> parse_job_key(std::string_view text) {
    constexpr size_t kShown = 100;
    auto key = read_key(text);
    // Numbers with zeros before them are another text.
    if (!key || to_text(*key) != text)
        return core::bad_input("\"{}\" is not the key of a job", core::printable(text.substr(0, kShown)));
    return std::move(*key);
}

std::string month_of(const JobKey& key) {
    constexpr size_t kLength = 7;
    return core::format_time(core::Time(std::chrono::seconds(key.seconds))).substr(0, kLength);
}

}  // namespace belay::server
