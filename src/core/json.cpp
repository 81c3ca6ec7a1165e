#include "core/json.h"

#include <algorithm>
#include <string>

namespace belay::core {

namespace {

template <typename Json>
Json parse(std::string_view text) {
    if (nests_too_deep(text)) return Json(Json::value_t::discarded);
    return Json::parse(text, nullptr, false);
}

SourcePosition position_of(std::string_view text, size_t byte, std::string_view file_name) {
    byte = std::min(byte, text.size());
    size_t line_start = byte == 0 ? 0 : text.rfind('\n', byte - 1) + 1;  // npos + 1 is 0
    size_t line_end = std::min(text.find('\n', byte), text.size());
    constexpr size_t kShown = 1000;  // a manifest may be one line
    return {.file = std::string(file_name),
            .line = static_cast<int>(std::ranges::count(text.substr(0, byte), '\n')) + 1,
            .column = static_cast<int>(byte - line_start) + 1,
            .line_text = line_end - line_start > kShown
                             ? std::string()
                             : std::string(text.substr(line_start, line_end - line_start))};
}

}  // namespace

bool nests_too_deep(std::string_view json) {
    int depth = 0;
    bool in_text = false;
    for (size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (in_text) {
            if (c == '\\') ++i;
            in_text = c != '"';
        } else if (c == '"') {
            in_text = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kMaxJsonDepth) return true;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return false;
}

nlohmann::json parse_json(std::string_view text) {
    return parse<nlohmann::json>(text);
}

nlohmann::ordered_json parse_ordered_json(std::string_view text) {
    return parse<nlohmann::ordered_json>(text);
}

Result<nlohmann::ordered_json> parse_json_file(std::string_view text, std::string_view file_name) {
    using Json = nlohmann::ordered_json;
    if (nests_too_deep(text)) return bad_input("{}: nests deeper than {} levels", file_name, kMaxJsonDepth);
    try {
        return Json::parse(text);
    } catch (const Json::parse_error& error) {
        return bad_input("not valid JSON")
            .at(position_of(text, error.byte > 0 ? error.byte - 1 : 0, file_name))
            .hint(
                "correct it there; where a program wrote the file, it may be cut off: write or copy it "
                "again");
    } catch (const Json::exception&) {
        return bad_input("{}: a number is out of range", file_name);
    }
}

}  // namespace belay::core
