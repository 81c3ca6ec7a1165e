#include "observe/hardware/pm_counters.h"

#include "observe/hardware/power_row.h"

#include <algorithm>
#include <array>
#include <utility>

namespace belay::observe::hardware {

namespace {

constexpr size_t kMostPmDomains = 64;
constexpr size_t kLongestCounter = 128;
constexpr int kAttempts = 3;
constexpr double kUsualScans = 10;  // a second, where raw_scan_hz does not tell
constexpr std::string_view kNodeDomain = "node";

struct PmSuffix {
    std::string_view name;
    PmUnit unit;
};
constexpr PmSuffix kPmSuffixes[] = {
    {"energy", PmUnit::kJoules}, {"power", PmUnit::kWatts}, {"temp", PmUnit::kCelsius}};

std::optional<int64_t> pm_number_in(SensorFile& file) {
    std::array<char, kLongestCounter> buffer;
    return parse_pm_number(file.read(buffer));
}

}  // namespace

bool read_one_moment(const std::function<std::optional<int64_t>()>& read_freshness,
                     const std::function<void()>& read_all, std::optional<int64_t>& freshness) {
    for (int i = 0; i < kAttempts; ++i) {
        freshness = read_freshness();
        read_all();
        if (read_freshness() == freshness) return true;
    }
    return false;
}

std::optional<PmFileName> parse_pm_file_name(std::string_view name) {
    for (const PmSuffix& suffix : kPmSuffixes) {
        if (name == suffix.name) return PmFileName{kNodeDomain, suffix.unit};
        if (!name.ends_with(suffix.name)) continue;
        const std::string_view domain = name.substr(0, name.size() - suffix.name.size());
        if (domain.size() > 1 && domain.ends_with('_'))
            return PmFileName{domain.substr(0, domain.size() - 1), suffix.unit};
    }
    return std::nullopt;
}

PmCounters::PmCounters(const std::filesystem::path& sys, ToldOnce& told)
    : root_(sys / "cray/pm_counters"),
      told_(&told),
      freshness_file_(root_ / "freshness"),
      startup_file_(root_ / "startup"),
      scans_per_second_(kUsualScans) {}

// What is known stays, since it knows how far its counter went.
void PmCounters::look() {
    std::vector<Domain> domains;
    for (const std::string& file : names_in(root_)) {
        const std::optional<PmFileName> name = parse_pm_file_name(file);
        if (!name) continue;
        auto domain = std::ranges::find(domains, name->domain, &Domain::name);
        if (domain == domains.end()) {
            if (domains.size() == kMostPmDomains) continue;
            const auto known = std::ranges::find(domains_, name->domain, &Domain::name);
            domains.push_back({.name = std::string(name->domain)});
            domain = domains.end() - 1;
            if (known != domains_.end()) domain->energy = known->energy;
        }
        domain->of(name->unit) = Counter{SensorFile(root_ / file)};
    }
    domains_ = std::move(domains);
    if (domains_.empty()) return;
    SensorFile scans(root_ / "raw_scan_hz");
    scans_per_second_ = static_cast<double>(pm_number_in(scans).value_or(0));
    if (scans_per_second_ <= 0) scans_per_second_ = kUsualScans;
}

std::optional<double> PmCounters::Domain::value(PmUnit unit) {
    if (!of(unit) || !of(unit)->value) return std::nullopt;
    return static_cast<double>(*of(unit)->value);
}

void PmCounters::read_all() {
    std::array<char, kLongestCounter> buffer;
    startup_ = pm_number_in(startup_file_);
    for (Domain& domain : domains_) {
        for (const PmSuffix& suffix : kPmSuffixes) {
            std::optional<Counter>& counter = domain.of(suffix.unit);
            if (!counter) continue;
            const std::optional<PmCounter> read = parse_pm_counter(counter->file.read(buffer));
            counter->value = read && read->unit == suffix.unit ? std::optional(read->value) : std::nullopt;
        }
    }
}

// Then what the files say is of some time ago.
bool PmCounters::stands_still(core::Time now) {
    const bool is_new = freshness_ != std::exchange(last_freshness_, freshness_);
    if (!freshness_ || is_new || now < renewed_) {
        renewed_ = now;
        return false;
    }
    return core::to_seconds(now - renewed_) > 2 / scans_per_second_;
}

void PmCounters::collect(const collect::Sample& sample, stream::Batch& rows) {
    if (domains_.empty()) return;
    if (!read_one_moment([this] { return pm_number_in(freshness_file_); }, [this] { read_all(); },
                         freshness_))
        return;
    if (stands_still(sample.time))
        return told_->tell(
            "Cray's pm_counters stand still",
            core::system_error("{} is {} as before", freshness_file_.path().native(), *freshness_)
                .hint("the node's board controller does not answer")
                .error());
    const bool began_anew = startup_ && known_startup_ && *startup_ != *known_startup_;
    if (startup_) known_startup_ = startup_;
    for (Domain& domain : domains_) {
        if (began_anew) domain.energy.begin_anew();
        std::optional<double> joules;
        if (const auto& counter = domain.of(PmUnit::kJoules); counter && counter->value) {
            const std::optional<int64_t> total = known_startup_
                                                     ? domain.energy.steady(*counter->value)
                                                     : domain.energy.unwrapped(*counter->value, std::nullopt);
            joules = in_units(total, 1);
        }
        add_power_row(sample,
                      {.source = "pm_counters",
                       .domain = domain.name,
                       .joules = joules,
                       .watts = domain.value(PmUnit::kWatts),
                       .celsius = domain.value(PmUnit::kCelsius)},
                      rows);
    }
}

}  // namespace belay::observe::hardware
