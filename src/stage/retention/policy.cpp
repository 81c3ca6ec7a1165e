#include "stage/retention/policy.h"

#include "core/text.h"
#include "core/toml.h"
#include "core/units.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace belay::stage {

namespace {

using core::Result;

struct TimeRow {
    std::string_view name;
    std::string_view meaning;
};
constexpr std::array<TimeRow, 5> kTimes = {{
    {"accessed", "its content was last read (st_atime)"},
    {"modified", "its content was last written (st_mtime)"},
    {"changed", "its content, name, owner or permissions last changed (st_ctime)"},
    {"used", "its content was last read or written (the later of st_atime and st_mtime)"},
    {"latest", "the latest of its times (st_atime, st_mtime and st_ctime)"},
}};
constexpr double kMostDays = 36500;

class PolicyReader {
  public:
    PolicyReader(std::string_view text, const std::string& file) : source_(text, file) {}

    Result<RetentionPolicy> read() {
        BELAY_TRY(table, core::parse_toml(source_));
        BELAY_CHECK(read_keys(table, kKeys));
        if (!has_days_)
            return core::bad_input("{}: older_than_days is missing", source_.file())
                .hint("write after how many days a file is purged");
        if (!has_time_)
            return core::bad_input("{}: timestamp is missing", source_.file())
                .hint(
                    "write which time makes a file old: accessed, modified, changed, used (the later of "
                    "accessed and modified) or latest (of all three)");
        if (policy_.purge_share && (!policy_.ask_share || *policy_.ask_share > *policy_.purge_share))
            return core::bad_input("{}: watermarks.purge needs watermarks.ask, which must not be above it",
                                   source_.file());
        return std::move(policy_);
    }

  private:
    using Handler = Result<> (PolicyReader::*)(const toml::node&);
    struct Key {
        std::string_view name;
        Handler handler;
    };
    static const std::array<Key, 8> kKeys;
    static const std::array<Key, 3> kWatermarkKeys;
    static const std::array<Key, 2> kQuotaKeys;

    template <size_t kCount>
    Result<> read_keys(const toml::table& table, const std::array<Key, kCount>& keys) {
        for (const auto& [key, node] : table) {
            const auto* known = std::ranges::find(keys, key.str(), &Key::name);
            if (known == keys.end()) return unknown(key, keys);
            BELAY_CHECK((this->*known->handler)(node));
        }
        return {};
    }

    template <size_t kCount>
    core::Failure unknown(const toml::key& key, const std::array<Key, kCount>& keys) {
        std::vector<std::string_view> names;
        for (const Key& each : keys) names.push_back(each.name);
        auto failure = core::bad_input("unknown key \"{}\"", key.str())
                           .at(core::toml_position(source_, key.source().begin));
        if (const auto nearest = core::nearest(key.str(), names))
            return std::move(failure).hint(fmt::format("did you mean \"{}\"?", *nearest));
        return std::move(failure).hint(fmt::format("there are {}", fmt::join(names, ", ")));
    }

    template <typename... Args>
    core::Failure wrong(const toml::node& node, fmt::format_string<Args...> format, Args&&... args) {
        return core::bad_input(format, std::forward<Args>(args)...)
            .at(core::toml_position(source_, node.source().begin));
    }

    Result<double> number(const toml::node& node, double least, double most) {
        const auto value = node.is_number() ? node.value<double>() : std::nullopt;
        if (!value || !(*value >= least && *value <= most))
            return wrong(node, "must be a number from {:g} to {:g}, not {}", least, most,
                         core::describe(node));
        return *value;
    }
    // Of 0 nobody can say whether "at once" or "never" is meant.
    Result<double> above_zero(const toml::node& node, double most) {
        const auto value = node.is_number() ? node.value<double>() : std::nullopt;
        if (!value || !(*value > 0 && *value <= most))
            return wrong(node, "must be a number above 0 and not above {:g}, not {}", most,
                         core::describe(node));
        return *value;
    }
    // A program that writes a policy may find nobody for it: then nothing is meant less than "everybody".
    Result<std::vector<std::string>> texts(const toml::node& node, std::string_view hint) {
        std::vector<std::string> found;
        const auto* list = node.as_array();
        if (list == nullptr) return wrong(node, "must be an array of texts, not {}", core::describe(node));
        if (list->empty()) return wrong(node, "must not be empty").hint(hint);
        for (const toml::node& each : *list) {
            auto text = each.value_exact<std::string>();
            if (!text || core::trim(*text).empty())
                return wrong(each, "must be a text that is not empty, not {}", core::describe(each));
            found.push_back(std::move(*text));
        }
        return found;
    }
    Result<> check_pattern(const toml::node& node, const std::string& pattern) {
        const auto parts = core::split(pattern, '/');
        if (std::ranges::find(parts, "..") != parts.end())
            return wrong(node, "\"{}\" matches nothing: no path has a part \"..\"", core::printable(pattern))
                .hint("write the path as it is beneath the directory, or an absolute one");
        if (std::ranges::all_of(parts, [](std::string_view part) { return part.empty() || part == "."; }))
            return wrong(node, "\"{}\" names no file", core::printable(pattern))
                .hint("\"**\" exempts everything");
        return {};
    }
    template <size_t kCount>
    Result<> section(const toml::node& node, const std::array<Key, kCount>& keys) {
        if (!node.is_table()) return wrong(node, "must be a table, not {}", core::describe(node));
        return read_keys(*node.as_table(), keys);
    }

    Result<> read_days(const toml::node& node) {
        BELAY_TRY(days, above_zero(node, kMostDays));
        policy_.days = days;
        has_days_ = true;
        return {};
    }
    Result<> read_time(const toml::node& node) {
        const auto name = node.value_exact<std::string>();
        const auto* row = name ? std::ranges::find(kTimes, *name, &TimeRow::name) : kTimes.end();
        if (row == kTimes.end())
            return wrong(node,
                         "must be \"accessed\", \"modified\", \"changed\", \"used\" or \"latest\", not {}",
                         name ? fmt::format("\"{}\"", core::printable(*name)) : core::describe(node));
        policy_.time = static_cast<RetentionTime>(row - kTimes.begin());
        has_time_ = true;
        return {};
    }
    Result<> read_warn_days(const toml::node& node) {
        BELAY_TRY(days, number(node, 0, kMostDays));
        policy_.warn_days = days;
        return {};
    }
    Result<> read_exempt(const toml::node& node) {
        BELAY_TRY(patterns, texts(node, "leave the key out where nothing is exempt"));
        for (size_t at = 0; at < patterns.size(); ++at)
            BELAY_CHECK(check_pattern((*node.as_array())[at], patterns[at]));
        policy_.exempt = std::move(patterns);
        return {};
    }
    Result<> read_exempt_users(const toml::node& node) {
        BELAY_TRY(users, texts(node, "leave the key out where nobody is exempt"));
        policy_.exempt_users = std::move(users);
        return {};
    }
    Result<> read_users(const toml::node& node) {
        BELAY_TRY(users,
                  texts(node, "name those whose files may go, or leave the key out if everybody's may"));
        policy_.users = std::move(users);
        return {};
    }
    Result<> read_watermarks(const toml::node& node) { return section(node, kWatermarkKeys); }
    Result<> read_quota(const toml::node& node) { return section(node, kQuotaKeys); }
    Result<> read_ask(const toml::node& node) {
        BELAY_TRY(share, above_zero(node, 1));
        policy_.ask_share = share;
        return {};
    }
    Result<> read_purge(const toml::node& node) {
        BELAY_TRY(share, above_zero(node, 1));
        policy_.purge_share = share;
        return {};
    }
    Result<> read_spare_days(const toml::node& node) {
        BELAY_TRY(days, above_zero(node, kMostDays));
        policy_.spare_days = days;
        return {};
    }
    Result<> read_quota_bytes(const toml::node& node) {
        const auto text = node.value_exact<std::string>();
        if (!text)
            return wrong(node, "must be a size in quotes, such as \"150TB\", not {}", core::describe(node));
        auto size = core::parse_size(*text);
        if (!size)
            return std::unexpected(
                std::move(size.error()).at(core::toml_position(source_, node.source().begin)));
        policy_.quota_bytes = size->bytes;
        return {};
    }
    Result<> read_quota_inodes(const toml::node& node) {
        const auto count = node.value_exact<int64_t>();
        if (!count || *count < 0)
            return wrong(node, "must be a whole number of at least 0, not {}", core::describe(node));
        policy_.quota_inodes = static_cast<uint64_t>(*count);
        return {};
    }

    core::SourceText source_;
    RetentionPolicy policy_;
    bool has_days_ = false;
    bool has_time_ = false;
};

const std::array<PolicyReader::Key, 8> PolicyReader::kKeys = {{
    {"older_than_days", &PolicyReader::read_days},
    {"timestamp", &PolicyReader::read_time},
    {"warn_days", &PolicyReader::read_warn_days},
    {"exempt", &PolicyReader::read_exempt},
    {"exempt_users", &PolicyReader::read_exempt_users},
    {"users", &PolicyReader::read_users},
    {"watermarks", &PolicyReader::read_watermarks},
    {"quota", &PolicyReader::read_quota},
}};
const std::array<PolicyReader::Key, 3> PolicyReader::kWatermarkKeys = {{
    {"ask", &PolicyReader::read_ask},
    {"purge", &PolicyReader::read_purge},
    {"spare_days", &PolicyReader::read_spare_days},
}};
const std::array<PolicyReader::Key, 2> PolicyReader::kQuotaKeys = {{
    {"bytes", &PolicyReader::read_quota_bytes},
    {"inodes", &PolicyReader::read_quota_inodes},
}};

}  // namespace

std::string_view to_text(RetentionTime time) {
    return kTimes[static_cast<size_t>(time)].name;
}
std::string_view meaning_of(RetentionTime time) {
    return kTimes[static_cast<size_t>(time)].meaning;
}

Result<RetentionPolicy> parse_retention_policy(std::string_view text, const std::string& file) {
    return PolicyReader(text, file).read();
}

int64_t time_of(const FileTimes& times, RetentionTime which) {
    switch (which) {
        case RetentionTime::kAccessed:
            return times.accessed;
        case RetentionTime::kModified:
            return times.modified;
        case RetentionTime::kChanged:
            return times.changed;
        case RetentionTime::kUsed:
            return std::max(times.accessed, times.modified);
        case RetentionTime::kLatest:
            return std::max({times.accessed, times.modified, times.changed});
    }
    return times.changed;
}

}  // namespace belay::stage
