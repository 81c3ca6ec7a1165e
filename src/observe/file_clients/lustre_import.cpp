#include "observe/file_clients/lustre_import.h"

#include "observe/collect/units.h"
#include "procfs/scan.h"

#include <algorithm>

namespace belay::observe::file_clients {

namespace {

using procfs::Lines;
using procfs::Words;

// IMP_STATE_HIST_LEN of lustre_import.h.
constexpr int64_t kMostRemembered = 16;

LustreState state_of(std::string_view name) {
    if (name == "FULL") return LustreState::kFull;
    if (name == "IDLE") return LustreState::kIdle;
    if (name == "EVICTED") return LustreState::kEvicted;
    return LustreState::kOther;
}

bool has_flag(Words words, std::string_view wanted) {
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
        if (word.ends_with(',')) word.remove_suffix(1);
        if (word == wanted) return true;
    }
    return false;
}

core::Result<> is_whole(std::string_view text) {
    if (!text.ends_with('\n')) return core::bad_input("ends within a line");
    return {};
}

}  // namespace

core::Result<> parse_lustre_import(std::string_view text, std::span<const std::string_view> keys,
                                   LustreImport& import) {
    BELAY_CHECK(is_whole(text));
    import.switched_off = false;
    import.numbers.assign(keys.size(), std::nullopt);
    bool has_state = false;
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        const std::string_view key = words.next();
        if (key == "state:" && !has_state) {
            import.state = state_of(words.next());
            has_state = true;
        } else if (key == "import_flags:") {
            import.switched_off = has_flag(words, "deactive");
        } else if (const auto found = std::ranges::find(keys, key); found != keys.end()) {
            import.numbers[static_cast<size_t>(found - keys.begin())] = procfs::count(words.next());
        }
    }
    if (!has_state) return core::bad_input("has no state");
    return {};
}

core::Result<LustreEvictions> parse_lustre_state(std::string_view text) {
    BELAY_CHECK(is_whole(text));
    if (!text.starts_with("current_state:")) return core::bad_input("does not begin with current_state");
    LustreEvictions evictions;
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        if (words.next() != "-" || words.next() != "[") continue;
        std::string_view seconds = words.next();
        if (!seconds.ends_with(',') || words.next() != "EVICTED") continue;
        seconds.remove_suffix(1);
        const std::optional<int64_t> at = procfs::scaled(procfs::count(seconds), collect::kNanoseconds);
        if (!at || evictions.remembered == kMostRemembered) continue;
        ++evictions.remembered;
        const core::Time time = core::time_from_nanoseconds(*at);
        if (!evictions.last || *evictions.last < time) evictions.last = time;
    }
    return evictions;
}

}  // namespace belay::observe::file_clients
