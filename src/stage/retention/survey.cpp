#include "stage/retention/survey.h"

#include "core/text.h"
#include "core/user.h"
#include "stage/walk/entries.h"
#include "stage/walk/named_directory.h"

#include <sys/statvfs.h>
#include <system_error>

namespace belay::stage {

namespace {

using core::format_count;
using core::Result;
namespace fs = std::filesystem;

// What mount options mean for the time that counts.
void tell_of_access_times(const core::Directory& root, RetentionTime time, Survey& result) {
    struct statvfs status{};
    const bool uses_access = time != RetentionTime::kModified && time != RetentionTime::kChanged;
    if (!uses_access || fstatvfs(root.fd(), &status) != 0) return;
    if ((status.f_flag & ST_NOATIME) != 0)
        result.warnings.emplace_back(
            "the file system is mounted with noatime here: reading does not make a file younger");
    else if ((status.f_flag & ST_RELATIME) != 0)
        result.notes.emplace_back("the file system is mounted with relatime here: a read counts once a day");
}

// The watermarks are those of a whole file system, of which the tree may be one user's part.
void tell_of_part(const core::Directory& root, Survey& result) {
    const Look above = look_at(root.fd(), "..");
    const Look here = look_at(root.fd(), "");
    if (result.pressure == Pressure::kPurge && above.errno_value == 0 && here.errno_value == 0 &&
        above.entry.inode != here.entry.inode && above.place.is_mount_of(here.place))
        result.warnings.push_back(fmt::format(
            "the file system is larger than {}: its watermarks press files out of this part alone",
            root.path().string()));
}

void tell_of_the_rest(const RetentionCounts& counts, bool with_list, Survey& result) {
    auto note = [&](std::string text) { result.notes.push_back(std::move(text)); };
    if (result.pressure == Pressure::kPurge && !with_list)
        note("what is pressed out is counted by whole hours here; --list says each file");
    if (counts.several_names > 0)
        note(fmt::format("{} other names, too (hard links): their bytes become free with the last of them",
                         format_count(counts.several_names, "of the files has", "of the files have")));
    if (counts.unknown_times > 0)
        note(fmt::format("{} left: the file system does not say when they were used",
                         format_count(counts.unknown_times, "file is", "files are")));
    if (const uint64_t others = result.walk.other_file_systems; others > 0)
        note(fmt::format("not entered, because something is mounted there: {}",
                         format_count(others, "directory", "directories")));
}

fs::path canonical_or_empty(const fs::path& path) {
    std::error_code code;
    fs::path canonical = fs::canonical(path, code);
    return code ? fs::path() : canonical;
}

// A name may lead elsewhere by now: the list must not name another tree than the one that was read.
Result<> check_same(const core::Directory& root, const fs::path& canonical) {
    BELAY_TRY(again, open_named_directory(canonical));
    const Look first = look_at(root.fd(), "");
    const Look second = look_at(again.fd(), "");
    if (first.errno_value == 0 && second.errno_value == 0 && first.entry.inode == second.entry.inode &&
        first.place.device == second.place.device)
        return {};
    return core::system_error("{} was replaced while it was opened", root.path().string());
}

}  // namespace

Result<Survey> survey(const fs::path& directory, const RetentionPolicy& policy,
                      const SurveyOptions& options) {
    BELAY_TRY(root, open_named_directory(directory));
    BELAY_TRY(names, retention_root(directory));
    BELAY_CHECK(check_same(root, names.canonical));
    BELAY_TRY(spared, find_spared(policy));
    BELAY_TRY(occupancy, occupancy_of(root));
    const RetentionRules rules{.policy = policy,
                               .exemptions = Exemptions(policy.exempt, names, canonical_or_empty),
                               .spared = std::move(spared),
                               .occupancy = occupancy,
                               .now = options.now,
                               .with_list = options.with_list};
    const size_t threads = std::max<size_t>(options.threads, 1);
    std::vector<RetentionSums> sums(threads, RetentionSums(rules));
    BELAY_TRY(report, walk(root,
                           {.threads = threads,
                            .most_calls_per_second = options.most_calls_per_second,
                            .stays_on_mount = true,
                            .stop = options.stop,
                            .progress = options.progress},
                           [&](size_t thread, const Listing& listing) { sums[thread].add(listing); }));
    for (size_t thread = 1; thread < threads; ++thread) sums[0].add(std::move(sums[thread]));
    Survey result{.counts = std::move(sums[0]).finish([](uint32_t user) { return core::user_name(user); }),
                  .occupancy = occupancy,
                  .pressure = rules.pressure(),
                  .walk = std::move(report)};
    result.list = {.root = names.canonical.string(),
                   .made = options.now,
                   .time = policy.time,
                   .days = policy.days,
                   .ask_share = policy.ask_share.value_or(0),
                   .spare_days = policy.spare_days,
                   .entries = std::move(result.counts.entries)};
    result.warnings = warnings_of(rules, result.counts, result.list.root);
    tell_of_access_times(root, policy.time, result);
    tell_of_part(root, result);
    tell_of_the_rest(result.counts, options.with_list, result);
    return result;
}

}  // namespace belay::stage
