#include "progress/mllog.h"

#include "core/text.h"

#include <cmath>

namespace belay::progress {

using core::bad_input;
using core::Result;

namespace {

// What Python's str.strip() takes away from a text decoded as Latin-1.
bool is_python_blank(unsigned char byte) {
    return (byte >= 0x09 && byte <= 0x0D) || (byte >= 0x1C && byte <= 0x20) || byte == 0x85 || byte == 0xA0;
}

std::string_view python_strip(std::string_view text) {
    while (!text.empty() && is_python_blank(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
    while (!text.empty() && is_python_blank(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
    return text;
}

std::optional<double> time_from(const Json& value) {
    std::optional<double> time;
    if (value.is_number()) time = value.get<double>();
    if (value.is_string()) time = core::parse_number<double>(core::trim(value.get_ref<const std::string&>()));
    if (time && !std::isfinite(*time)) return std::nullopt;
    return time;
}

MllogEvent event_from(Json& object) {
    MllogEvent event;
    if (auto it = object.find("time_ms"); it != object.end()) event.time_ms = time_from(*it);
    if (auto it = object.find("event_type"); it != object.end() && it->is_string()) event.event_type = *it;
    if (auto it = object.find("key"); it != object.end() && it->is_string())
        event.key = it->get<std::string>();
    if (auto it = object.find("value"); it != object.end()) event.value = std::move(*it);
    if (auto it = object.find("metadata"); it != object.end()) event.metadata = std::move(*it);
    return event;
}

}  // namespace

std::string format_mllog_line(int64_t time_ms, std::string_view event_type, std::string_view key,
                              const Json& value, const Json& metadata, std::string_view name_space) {
    Json line = Json::object();
    line["namespace"] = name_space;
    line["time_ms"] = time_ms;
    line["event_type"] = event_type;
    line["key"] = key;
    line["value"] = value;
    line["metadata"] = metadata;
    return std::string(kMllogToken) + core::write_python_json(line);
}

Result<std::optional<MllogEvent>> parse_mllog_line(std::string_view line) {
    size_t token = line.rfind(kMllogToken);
    if (token == std::string_view::npos) return std::nullopt;
    auto object = core::parse_python_json(python_strip(line.substr(token + kMllogToken.size())),
                                          core::TextEncoding::kLatin1);
    if (!object) return std::unexpected(std::move(object.error()).context("MLLOG line"));
    if (!object->is_object()) return bad_input("MLLOG line: its text is not a JSON object");
    return event_from(*object);
}

std::vector<MllogLine> parse_mllog(std::string_view log) {
    std::vector<MllogLine> lines;
    while (!log.empty()) {
        size_t end = log.find_first_of("\r\n");
        std::string_view line = log.substr(0, end);
        log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
        auto event = parse_mllog_line(line);
        if (event && !*event) continue;
        int number = static_cast<int>(lines.size()) + 1;
        if (event) {
            lines.push_back({number, std::move(**event)});
        } else {
            lines.push_back({number, std::unexpected(std::move(event.error()))});
        }
    }
    return lines;
}

}  // namespace belay::progress
