#include "server/access/json_keys.h"

#include "core/json.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace belay::server {

namespace {

// Behind the text that begins at `at`, a quote.
size_t end_of_text(std::string_view json, size_t at) {
    for (++at; at < json.size() && json[at] != '"'; ++at)
        if (json[at] == '\\') ++at;
    return std::min(at + 1, json.size());
}

}  // namespace

bool repeats_a_key(std::string_view json) {
    std::vector<std::set<std::string>> open;  // keys of the objects and lists around
    for (size_t at = 0; at < json.size();) {
        const char c = json[at];
        if (c == '{' || c == '[') open.emplace_back();
        if ((c == '}' || c == ']') && !open.empty()) open.pop_back();
        if (c != '"') {
            ++at;
            continue;
        }
        const size_t end = end_of_text(json, at);
        const size_t next = json.find_first_not_of(" \t\r\n", end);
        if (next != std::string_view::npos && json[next] == ':' && !open.empty()) {
            const auto key = core::parse_json(json.substr(at, end - at));
            if (!key.is_string() || !open.back().insert(key.get<std::string>()).second) return true;
        }
        at = end;
    }
    return false;
}

}  // namespace belay::server
