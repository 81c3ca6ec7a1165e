#include "server/archive/archive_state.h"

#include "core/text.h"
#include "stream/segment_format.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

constexpr std::string_view kStateFirstLine = "belay-archive 1";

bool is_plain_in_hive(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

}  // namespace

std::string encode_archive_state(const ArchiveState& state) {
    std::string text = fmt::format("{}\nplan\t{}\n", kStateFirstLine, state.plan);
    const auto out = std::back_inserter(text);
    for (const std::string& name : state.pending) fmt::format_to(out, "pending\t{}\n", name);
    for (const std::string& name : state.archived) fmt::format_to(out, "archived\t{}\n", name);
    const uint32_t sum = stream::checksum(text);
    fmt::format_to(out, "end\t{:08x}\n", sum);
    return text;
}

Result<ArchiveState> decode_archive_state(std::string_view text) {
    constexpr std::string_view kEnd = "end\t";
    constexpr size_t kEndBytes = kEnd.size() + 8 + 1;
    if (!text.starts_with(kStateFirstLine)) return bad_input("does not begin as the state of an archive");
    if (text.size() < kEndBytes) return bad_input("is cut off");
    const std::string_view body = text.substr(0, text.size() - kEndBytes);
    if (text.substr(body.size()) != fmt::format("{}{:08x}\n", kEnd, stream::checksum(body)))
        return bad_input("is damaged or cut off");
    ArchiveState state;
    bool is_first = true;
    for (std::string_view line : core::split(body, '\n')) {
        if (std::exchange(is_first, false) || line.empty()) continue;
        const auto fields = core::split(line, '\t');
        if (fields.size() != 2) return bad_input("a line that is malformed");
        if (fields[0] == "plan") {
            const auto plan = core::parse_number<uint64_t>(fields[1]);
            if (!plan) return bad_input("a plan without a number");
            state.plan = *plan;
        } else if (fields[0] == "pending") {
            state.pending.emplace(fields[1]);
        } else if (fields[0] == "archived") {
            state.archived.emplace(fields[1]);
        } else {
            return bad_input("a line of an unknown kind");
        }
    }
    return state;
}

std::string archive_cluster(std::string_view cluster, std::string_view unnamed) {
    std::string text;
    for (const char c : cluster.empty() ? unnamed : cluster)
        if (is_plain_in_hive(c))
            text += c;
        else
            text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    return text;
}

std::string archive_directory(std::string_view table, std::string_view day, std::string_view cluster) {
    return fmt::format("table={}/day={}/cluster={}", table, day, cluster);
}

std::string archive_part_name(uint64_t plan) {
    return fmt::format("part-{:016x}.parquet", plan);
}

}  // namespace belay::server
