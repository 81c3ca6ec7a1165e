#include "observe/record_begin.h"

#include "core/activity.h"
#include "core/deadline.h"
#include "core/file.h"
#include "core/text.h"
#include "core/utf8.h"
#include "record/place.h"

#include <map>
#include <sys/utsname.h>

namespace belay::observe {

using core::bad_input;
using core::Result;
namespace fs = std::filesystem;

namespace {

// How long the other tasks wait for the first to begin the record before they do it themselves: longer than
// the first may wait for slurmctld (placement.cpp), whose answers the record should have.
constexpr core::Duration kFirstTaskTime = std::chrono::seconds(8);

std::map<std::string, std::string> software_facts() {
    std::map<std::string, std::string> facts{{"belay", BELAY_VERSION}};
    utsname system{};
    if (uname(&system) == 0)
        facts["kernel"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
    if (auto text = core::read_file("/etc/os-release")) {
        for (std::string_view line : core::split(*text, '\n')) {
            constexpr std::string_view kKey = "PRETTY_NAME=";
            if (!line.starts_with(kKey)) continue;
            std::string_view name = line.substr(kKey.size());
            if (name.size() >= 2 && name.front() == '"' && name.back() == '"')
                name = name.substr(1, name.size() - 2);
            facts["os"] = name;
        }
    }
    return facts;
}

void wait_for_first_task(const fs::path& record) {
    core::Clock& clock = core::system_clock();
    const auto deadline = core::Deadline::after(kFirstTaskTime, clock);
    std::error_code ignored;
    while (!fs::exists(record::manifest_path(record), ignored) && !deadline.is_over())
        clock.sleep_until(clock.monotonic() + std::chrono::milliseconds(20));
}

Result<> check_name(const fs::path& record) {
    if (record.empty()) return bad_input("the record's directory is an empty name");
    if (core::to_valid_utf8(record.string()) != record.string())
        return bad_input("{}: not UTF-8, as the names of records must be", core::printable(record.string()));
    return {};
}

}  // namespace

Result<> begin_job_record(const RecordBegin& options, const Placement& placement, core::Time now) {
    core::note_activity("look at", options.record.native());
    BELAY_CHECK(check_name(options.record));
    // Every task looks: the first may have refused already.
    BELAY_CHECK(record::check_place(options.record));
    if (!placement.first_of_job) wait_for_first_task(options.record);
    record::Manifest manifest{.job = placement.job,
                              .command = options.command,
                              .created = now,
                              .interval = options.interval,
                              .flush = options.flush,
                              .software = software_facts(),
                              .parts = options.parts};
    if (!manifest.job.start) manifest.job.start = now;
    return record::begin_record(options.record, manifest);
}

}  // namespace belay::observe
