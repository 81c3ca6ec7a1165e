#include "image/strict_json.h"

#include <set>

namespace belay::image {

namespace {

using core::Result;
using core::system_error;
using nlohmann::json;

// Thrown out of the parser's callback, which has no other way to stop it; caught below.
struct Refused {
    std::string why;
};

}  // namespace

Result<json> parse_strict_json(std::string_view text, std::string_view what, size_t limit) {
    if (text.size() > limit) return system_error("{} is larger than {} bytes", what, limit);
    std::vector<std::set<std::string>> keys;
    auto check = [&keys](int depth, json::parse_event_t event, json& parsed) {
        if (depth > kMaxJsonDepth) throw Refused{fmt::format("it is nested deeper than {}", kMaxJsonDepth)};
        if (event == json::parse_event_t::object_start) keys.emplace_back();
        if (event == json::parse_event_t::object_end) keys.pop_back();
        if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
            throw Refused{fmt::format("the key \"{}\" stands twice in an object", parsed.get<std::string>())};
        return true;
    };
    try {
        return json::parse(text, check);
    } catch (const Refused& refused) {
        return system_error("{} is not usable: {}", what, refused.why);
    } catch (const json::parse_error& error) {  // its text quotes what it read, which may be a secret
        return system_error("{} is not JSON, seen at byte {}", what, error.byte);
    } catch (const json::exception&) {
        return system_error("{} is not JSON", what);
    }
}

Result<std::string> text_member(const json& object, const char* key) {
    auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::string();
    if (!found->is_string()) return system_error("\"{}\" is not a text", key);
    return found->get<std::string>();
}

Result<std::vector<std::string>> text_list_member(const json& object, const char* key) {
    std::vector<std::string> out;
    auto found = object.find(key);
    if (found == object.end() || found->is_null()) return out;
    if (!found->is_array()) return system_error("\"{}\" is not a list", key);
    for (const json& item : *found) {
        if (!item.is_string()) return system_error("\"{}\" holds something else than texts", key);
        out.push_back(item.get<std::string>());
    }
    return out;
}

}  // namespace belay::image
