#include "observe/file_clients/lustre_clients.h"

#include "core/file.h"
#include "observe/collect/units.h"
#include "observe/file_clients/lustre_import.h"
#include "observe/file_clients/lustre_name.h"
#include "observe/file_clients/lustre_stats.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

namespace belay::observe::file_clients {

namespace {

namespace fs = std::filesystem;
using schema::kLustreQuantities;

constexpr size_t kMostClients = 64;
constexpr size_t kMostNames = 8192;  // of a type; a target's number has four hexadecimal digits
constexpr size_t kMostFileBytes = size_t{1} << 20;

// Where files stand, by version of Lustre. They are looked for in this order, each by itself:
//
//                              to 2.11                  2.12 to 2.16             from 2.17
//   llite.*.stats, *.stats     /proc/fs/lustre          /sys/kernel/debug        /sys/kernel/debug
//   md_stats, import, state    /proc/fs/lustre          /proc/fs/lustre          /sys/kernel/debug
//
// /sys/fs/lustre has none of them, but from 2.12 on it names the mounts to those who may not look into debugfs.
constexpr size_t kPlacesWithFiles = 2;
std::array<fs::path, 3> places_in(const LustreRoots& roots) {
    return {roots.sys / "kernel/debug/lustre", roots.proc / "fs/lustre", roots.sys / "fs/lustre"};
}

struct StatsFile {
    std::string_view sampling;  // as schema/tables/lustre.h names it
    std::string_view type;
    std::string_view name;
    std::optional<core::Time> LustreClient::* start;
};
constexpr StatsFile kStatsFiles[] = {
    {"llite/stats", "llite", "stats", &LustreClient::calls_start},
    {"mdc/md_stats", "mdc", "md_stats", &LustreClient::metadata_start},
    {"mdc/stats", "mdc", "stats", &LustreClient::metadata_start},
    {"osc/stats", "osc", "stats", &LustreClient::data_start},
};

constexpr std::string_view kImport = "import";
constexpr size_t kImportKeys = [] {
    size_t count = 0;
    for (const schema::Quantity& quantity : kLustreQuantities)
        count += quantity.sampling.file == kImport ? 1 : 0;
    return count;
}();
constexpr auto kImportPlaces = [] {
    std::array<size_t, kImportKeys> places{};
    size_t at = 0;
    for (size_t i = 0; i < std::size(kLustreQuantities); ++i)
        if (kLustreQuantities[i].sampling.file == kImport) places[at++] = i;
    return places;
}();

// What the sampling names is read, by one of these files.
static_assert(std::ranges::all_of(kLustreQuantities, [](const schema::Quantity& quantity) {
    const std::string_view file = quantity.sampling.file;
    return file.empty() || file == kImport ||
           std::ranges::find(kStatsFiles, file, &StatsFile::sampling) != std::end(kStatsFiles);
}));

consteval size_t place_of(std::string_view name) {
    return schema::column(schema::kLustre, name) - schema::kFirstLustreQuantity;
}

LustreMeasure measure_of(const schema::Quantity& quantity) {
    if (quantity.unit == "s") return LustreMeasure::kMicroseconds;
    return quantity.unit == "B" ? LustreMeasure::kBytes : LustreMeasure::kSamples;
}

enum class Outcome : uint8_t { kRead, kAbsent, kUnreadable };

// What has been added up of one kind of file.
struct Added {
    size_t files = 0;
    bool unreadable = false;

    bool is_whole() const { return files > 0 && !unreadable; }
};

struct Draft {
    LustreClient client;
    std::array<Added, std::size(kStatsFiles)> stats;
    Added imports;
    Added histories;
    std::array<int64_t, 4> targets{};  // all, idle, not ready, evicted
    int64_t evictions = 0;
};

class Reader {
  public:
    explicit Reader(const LustreRoots& roots) : places_(places_in(roots)) {}

    LustreReading read(LustreScope scope) {
        read_type("llite");
        if (scope == LustreScope::kAll)
            for (std::string_view type : {"mdc", "osc"}) read_type(type);
        LustreReading reading;
        for (Draft& draft : drafts_) reading.clients.push_back(finished(std::move(draft)));
        std::ranges::sort(reading.clients, {}, [](const LustreClient& client) {
            return std::pair(std::string_view(client.file_system), std::string_view(client.instance));
        });
        if (!reading.clients.empty()) reading.refused = std::move(refused_);
        return reading;
    }

  private:
    void read_type(std::string_view type) {
        for (const std::string& name : names(type)) {
            const std::optional<LustreName> parsed = parse_lustre_name(type, name);
            Draft* draft = parsed ? draft_of(*parsed) : nullptr;
            if (draft == nullptr) continue;
            for (size_t i = 0; i < std::size(kStatsFiles); ++i)
                if (kStatsFiles[i].type == type) read_stats(*draft, i, name);
            if (!parsed->target.empty()) read_target(*draft, type, name, parsed->target);
        }
    }

    // All directories of a type, wherever they stand, sorted.
    std::vector<std::string> names(std::string_view type) const {
        std::vector<std::string> all;
        for (const fs::path& place : places_) {
            std::error_code error;
            fs::directory_iterator entry(place / type, error);
            for (; !error && entry != fs::directory_iterator() && all.size() < kMostNames;
                 entry.increment(error))
                all.push_back(entry->path().filename().string());
        }
        std::ranges::sort(all);
        all.erase(std::ranges::unique(all).begin(), all.end());
        return all;
    }

    Draft* draft_of(const LustreName& name) {
        const auto found = std::ranges::find_if(drafts_, [&](const Draft& draft) {
            return draft.client.instance == name.instance && draft.client.file_system == name.file_system;
        });
        if (found != drafts_.end()) return &*found;
        if (drafts_.size() == kMostClients) return nullptr;
        Draft& draft = drafts_.emplace_back();
        draft.client.file_system = name.file_system;
        draft.client.instance = name.instance;
        return &draft;
    }

    // Into text_.
    Outcome read_file(std::string_view type, const std::string& name, std::string_view file) {
        Outcome outcome = Outcome::kAbsent;
        std::optional<core::Error> refused;
        for (size_t i = 0; i < kPlacesWithFiles; ++i) {
            core::Result<std::string> text = core::read_file(places_[i] / type / name / file, kMostFileBytes);
            if (text) {
                text_ = std::move(*text);
                return Outcome::kRead;
            }
            // ENODEV: a target that is being connected or disconnected for good.
            const int why = text.error().errno_value();
            if (why == ENOENT || why == ENOTDIR || why == ENODEV) continue;
            outcome = Outcome::kUnreadable;
            if (text.error().cause() == core::Cause::kDenied && !refused) refused = std::move(text.error());
        }
        if (refused && !refused_)
            refused_ = std::move(*refused).hint("only root may read what Lustre counts: run this as root");
        return outcome;
    }

    void read_stats(Draft& draft, size_t which, const std::string& name) {
        const StatsFile& file = kStatsFiles[which];
        Added& added = draft.stats[which];
        const Outcome outcome = read_file(file.type, name, file.name);
        if (outcome == Outcome::kAbsent) return;
        if (outcome == Outcome::kUnreadable || !parse_lustre_stats(text_, stats_)) {
            added.unreadable = true;
            return;
        }
        const bool first = added.files++ == 0;
        for (size_t i = 0; i < std::size(kLustreQuantities); ++i) {
            const schema::Quantity& quantity = kLustreQuantities[i];
            if (quantity.sampling.file != file.sampling) continue;
            std::optional<int64_t>& value = draft.client.values[i];
            value =
                collect::sum(first ? 0 : value, total(stats_, quantity.sampling.key, measure_of(quantity)));
        }
        // The earliest: one target that came later does not begin all anew.
        std::optional<core::Time>& start = draft.client.*file.start;
        if (stats_.start_time && (!start || *stats_.start_time < *start)) start = stats_.start_time;
    }

    void read_target(Draft& draft, std::string_view type, const std::string& name, std::string_view target) {
        const Outcome outcome = read_file(type, name, kImport);
        if (outcome == Outcome::kUnreadable) draft.imports.unreadable = true;
        if (outcome == Outcome::kRead) add_import(draft, target);
        const Outcome history = read_file(type, name, "state");
        if (history == Outcome::kUnreadable) draft.histories.unreadable = true;
        if (history == Outcome::kRead) add_history(draft);
    }

    void add_import(Draft& draft, std::string_view target) {
        std::array<std::string_view, kImportKeys> keys;
        for (size_t i = 0; i < kImportKeys; ++i) keys[i] = kLustreQuantities[kImportPlaces[i]].sampling.key;
        if (!parse_lustre_import(text_, keys, import_)) {
            draft.imports.unreadable = true;
            return;
        }
        const bool first = draft.imports.files++ == 0;
        for (size_t i = 0; i < kImportKeys; ++i) {
            std::optional<int64_t>& value = draft.client.values[kImportPlaces[i]];
            value = collect::sum(first ? 0 : value, import_.numbers[i]);
        }
        if (import_.switched_off) return;
        const bool idle = import_.state == LustreState::kIdle;
        const bool ready = idle || import_.state == LustreState::kFull;
        ++draft.targets[0];
        if (idle) ++draft.targets[1];
        if (!ready) ++draft.targets[2];
        if (import_.state == LustreState::kEvicted) ++draft.targets[3];
        if (!ready && draft.client.not_ready_target.empty()) draft.client.not_ready_target = target;
    }

    void add_history(Draft& draft) const {
        const core::Result<LustreEvictions> evictions = parse_lustre_state(text_);
        if (!evictions) {
            draft.histories.unreadable = true;
            return;
        }
        ++draft.histories.files;
        draft.evictions += evictions->remembered;
        std::optional<core::Time>& last = draft.client.last_eviction;
        if (evictions->last && (!last || *last < *evictions->last)) last = evictions->last;
    }

    static LustreClient finished(Draft draft) {
        LustreClient& client = draft.client;
        for (size_t i = 0; i < std::size(kStatsFiles); ++i)
            if (!draft.stats[i].is_whole()) forget(client, kStatsFiles[i].sampling);
        if (draft.imports.is_whole()) {
            client.values[place_of("targets")] = draft.targets[0];
            client.values[place_of("targets_idle")] = draft.targets[1];
            client.values[place_of("targets_not_ready")] = draft.targets[2];
            client.values[place_of("targets_evicted")] = draft.targets[3];
        } else {
            forget(client, kImport);
        }
        if (draft.histories.is_whole()) client.values[place_of("evictions_remembered")] = draft.evictions;
        return std::move(client);
    }

    static void forget(LustreClient& client, std::string_view file) {
        for (size_t i = 0; i < std::size(kLustreQuantities); ++i)
            if (kLustreQuantities[i].sampling.file == file) client.values[i].reset();
    }

    std::array<fs::path, 3> places_;
    std::vector<Draft> drafts_;
    std::string text_;
    LustreStats stats_;
    LustreImport import_;
    std::optional<core::Error> refused_;
};

}  // namespace

LustreReading read_lustre_clients(const LustreRoots& roots, LustreScope scope) {
    return Reader(roots).read(scope);
}

}  // namespace belay::observe::file_clients
