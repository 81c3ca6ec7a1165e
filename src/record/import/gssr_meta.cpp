#include "record/import/gssr_meta.h"

#include "core/json.h"
#include "core/text.h"
#include "record/import/names.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

namespace belay::record {

namespace {

using Pairs = std::map<std::string, std::string, std::less<>>;

bool is_key_character(char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || c == '-';
}

// "key": "value", of a line; nothing if it is none. Early versions left out the quote that ends a key.
std::optional<std::pair<std::string_view, std::string_view>> pair_of(std::string_view line) {
    line = core::trim(line);
    if (!line.starts_with('"')) return std::nullopt;
    line.remove_prefix(1);
    auto length = static_cast<size_t>(std::ranges::find_if_not(line, is_key_character) - line.begin());
    std::string_view key = line.substr(0, length);
    line.remove_prefix(length);
    if (line.starts_with('"')) line.remove_prefix(1);
    line = core::trim(line);
    if (key.empty() || !line.starts_with(':')) return std::nullopt;
    return std::pair{key, core::trim(line.substr(1))};
}

// Whether a value goes on in the next line: its last quote is still to come.
bool is_open(std::string_view value) {
    value = core::trim(value);
    if (!value.starts_with('"')) return false;
    if (value.ends_with(',')) value.remove_suffix(1);
    return value.size() < 2 || !value.ends_with('"');
}

std::string plain(std::string_view value) {
    value = core::trim(value);
    if (value.ends_with(',')) value = core::trim(value.substr(0, value.size() - 1));
    if (value.starts_with('"')) value.remove_prefix(1);
    if (value.ends_with('"')) value.remove_suffix(1);
    return value == "(null)" ? "" : std::string(value);  // what printf makes of a variable that is not set
}

// Somebody else's JSON, in one line. The recorder's own is none where an argument has a quote.
Pairs pairs_of_json(std::string_view text) {
    Pairs pairs;
    const auto json = core::parse_json(text);
    if (!json.is_object()) return pairs;
    for (const auto& [key, value] : json.items())
        if (value.is_string())
            pairs.try_emplace(key, value.get<std::string>());
        else if (value.is_number_integer())
            pairs.try_emplace(key, value.dump());
    return pairs;
}

Pairs pairs_of(std::string_view text) {
    Pairs pairs;
    std::optional<std::string> key;  // of a value that is still open
    std::string value;
    auto close = [&] {
        if (key) pairs.try_emplace(*key, plain(value));
        key.reset();
    };
    for (std::string_view line : core::split(text, '\n')) {
        if (auto pair = pair_of(line)) {
            close();
            key = pair->first;
            value = pair->second;
        } else if (key) {
            value += "\n" + std::string(line);
        }
        if (key && !is_open(value)) close();
    }
    close();
    return pairs.empty() ? pairs_of_json(text) : pairs;
}

// 'a' 'b c' -> a, b c. A quote within an argument cannot be told from one that ends it unless a blank and
// another follow.
std::vector<std::string> arguments_of(std::string_view text) {
    std::vector<std::string> arguments;
    text = core::trim(text);
    if (text.starts_with('\'')) text.remove_prefix(1);
    if (text.ends_with('\'')) text.remove_suffix(1);
    if (text.empty()) return arguments;
    constexpr std::string_view kBetween = "' '";
    while (true) {
        size_t end = text.find(kBetween);
        arguments.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) return arguments;
        text.remove_prefix(end + kBetween.size());
    }
}

std::optional<core::Time> time_of(const std::string& text) {
    auto time = core::parse_time(text);
    return time && *time > core::Time() ? std::optional(*time) : std::nullopt;  // a clock that was never set
}

}  // namespace

GssrMeta parse_gssr_meta(std::string_view text) {
    Pairs pairs = pairs_of(text);
    GssrMeta meta{.version = short_name(pairs["gssr-record-version"]),
                  .date = time_of(pairs["date"]),
                  .cluster = short_name(pairs["cluster"]),
                  .job_id = core::parse_number<int64_t>(pairs["jobid"]),
                  .job_name = short_name(pairs["jobname"]),
                  .gpus = core::parse_number<int64_t>(pairs["ngpus"]),
                  .step_nodes = core::parse_number<int64_t>(pairs["step_nnodes"]),
                  .command = {}};
    // The earliest versions exchanged the two.
    if (auto date = time_of(meta.version); !meta.date && date) {
        meta.date = date;
        meta.version = short_name(pairs["date"]);
    }
    // What it writes outside Slurm.
    if (meta.cluster == "nocluster") meta.cluster.clear();
    if (meta.job_name == "nojobname") meta.job_name.clear();
    if (meta.job_id && *meta.job_id <= 0) meta.job_id.reset();
    if (meta.gpus && *meta.gpus <= 0) meta.gpus.reset();
    if (!pairs["executable"].empty()) {
        meta.command.push_back(pairs["executable"]);
        for (std::string& argument : arguments_of(pairs["arguments"]))
            meta.command.push_back(std::move(argument));
    }
    return meta;
}

}  // namespace belay::record
