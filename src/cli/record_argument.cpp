#include "cli/record_argument.h"

#include "core/activity.h"
#include "core/file.h"
#include "core/tell.h"
#include "core/text.h"
#include "core/user.h"
#include "core/utf8.h"
#include "record/place.h"
#include "step/prepare.h"

#include <glob.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace belay::cli {

using core::Result;
namespace fs = std::filesystem;

namespace {

constexpr size_t kMostShown = 8;

std::string escaped_for_glob(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '*' || c == '?' || c == '[' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

// A job, or one of its steps: "4711", of which `step` is empty, or "4711.0".
struct JobStep {
    std::string job;
    std::string step;
};

std::optional<uid_t> owner_of(const fs::path& path) {
    struct stat facts{};
    return stat(path.c_str(), &facts) == 0 ? std::optional(facts.st_uid) : std::nullopt;
}
bool is_own(const fs::path& path) {
    return owner_of(path) == geteuid();
}

// Anyone may make a directory of such a name where others look for theirs: one is the job's if it belongs to
// the user whom it names, to the caller, or to root.
bool is_of_its_user(const fs::path& path, const record::Manifest& manifest) {
    const auto owner = owner_of(path);
    return owner && (*owner == 0 || is_own(path) || core::user_name(*owner) == manifest.job.user);
}

// Of another user, neither root nor the caller, it is said: anyone can make a record that names its maker.
fs::path tell_whose(fs::path path) {
    if (const auto owner = owner_of(path); owner && *owner != 0 && !is_own(path))
        core::tell("{} belongs to {}, who is not you", core::printable(path.string()),
                   core::user_name(*owner));
    return path;
}

// The directories that the pattern of a site gives to steps of the job, or to one step of it.
Result<std::vector<fs::path>> records_of_job(std::string_view pattern, const JobStep& of) {
    BELAY_TRY(names, step::expand_record_path(escaped_for_glob(pattern), of.job,
                                              of.step.empty() ? "*" : of.step, "*"));
    core::note_activity("look for", names);
    glob_t found{};
    const int status = glob(names.c_str(), GLOB_NOSORT, nullptr, &found);
    std::vector<fs::path> paths(found.gl_pathv, found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
    globfree(&found);
    if (status == GLOB_NOSPACE) return core::system_error("no memory to look for {}", names);
    std::optional<core::Error> denied;
    std::erase_if(paths, [&](const fs::path& path) {
        auto manifest = record::read_manifest(path);
        if (!manifest && manifest.error().cause() == core::Cause::kDenied)
            denied = std::move(manifest.error());
        if (!manifest || !manifest->job.id || std::to_string(*manifest->job.id) != of.job) return true;
        if (is_of_its_user(path, *manifest)) return false;
        denied = core::Error(core::ErrorKind::kBadInput,
                             fmt::format("{} says that it is of job {} of {}, but belongs to another user",
                                         path.string(), of.job, manifest->job.user))
                     .hint("if you trust who made it, name the directory itself");
        return true;
    });
    // Its name may fit by chance; that it cannot be read is still the best answer.
    if (paths.empty() && denied) return std::unexpected(std::move(*denied));
    // The caller's own come before those of users who say that the job was theirs.
    if (std::ranges::any_of(paths, is_own))
        std::erase_if(paths, [](const fs::path& path) { return !is_own(path); });
    std::ranges::sort(paths);
    return paths;
}

Result<fs::path> record_of_job(const core::CommandContext& context, const JobStep& of) {
    BELAY_TRY(configuration, context.configuration());
    const std::string& pattern = configuration.text("record.directory");
    const std::string name = of.step.empty() ? of.job : of.job + "." + of.step;
    BELAY_TRY(paths, records_of_job(pattern, of));
    if (paths.empty())
        return core::bad_input("there is no record of job {}, and no file or directory has that name", name)
            .because(core::Cause::kNotFound)
            .hint(fmt::format("the setting record.directory is \"{}\": change to the directory in which srun "
                              "was called, or name the directory of the record",
                              pattern));
    if (paths.size() == 1) return tell_whose(std::move(paths.front()));
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(paths.size(), kMostShown); ++i) names.push_back(paths[i].string());
    return core::bad_input("job {} has {} records, one for each step or restart", name, paths.size())
        .hint(fmt::format("name one of them, or a step as {}.0: {}{}", of.job, core::join(names, " "),
                          paths.size() > kMostShown ? " …" : ""));
}

// Nothing where something has that name.
std::optional<JobStep> job_step(const std::string& argument) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(argument, ignored))) return std::nullopt;
    const size_t point = std::min(argument.find('.'), argument.size());
    JobStep out{argument.substr(0, point), argument.substr(std::min(point + 1, argument.size()))};
    const bool has_step = point == argument.size() || core::parse_number<uint64_t>(out.step);
    if (!core::parse_number<uint64_t>(out.job) || !has_step) return std::nullopt;
    return out;
}

}  // namespace

Result<fs::path> find_record(const core::CommandContext& context, const std::string& argument) {
    const std::optional<JobStep> step = job_step(argument);
    if (!step) return fs::path(argument);
    return record_of_job(context, *step);
}

}  // namespace belay::cli
