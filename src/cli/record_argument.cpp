#include "cli/record_argument.h"

#include "core/activity.h"
#include "core/file.h"
#include "core/text.h"
#include "record/place.h"
#include "step/prepare.h"

#include <glob.h>
#include <optional>
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

// The directories that the pattern of a site gives to steps of the job.
Result<std::vector<fs::path>> records_of_job(std::string_view pattern, const std::string& job) {
    BELAY_TRY(names, step::expand_record_path(escaped_for_glob(pattern), job, "*", "*"));
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
        return !manifest || !manifest->job.id || std::to_string(*manifest->job.id) != job;
    });
    // Its name may fit by chance; that it cannot be read is still the best answer.
    if (paths.empty() && denied) return std::unexpected(std::move(*denied));
    std::ranges::sort(paths);
    return paths;
}

Result<fs::path> record_of_job(const core::CommandContext& context, const std::string& job) {
    BELAY_TRY(configuration, context.configuration());
    const std::string& pattern = configuration.text("record.directory");
    BELAY_TRY(paths, records_of_job(pattern, job));
    if (paths.empty())
        return core::bad_input("there is no record of job {}, and nothing is called {}", job, job)
            .because(core::Cause::kNotFound)
            .hint(fmt::format("the setting record.directory is \"{}\": change to the directory in which srun "
                              "was called, or name the directory of the record",
                              pattern));
    if (paths.size() == 1) return paths.front();
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(paths.size(), kMostShown); ++i) names.push_back(paths[i].string());
    return core::bad_input("job {} has {} records, of its steps and restarts", job, paths.size())
        .hint(fmt::format("name one of them: {}{}", core::join(names, " "),
                          paths.size() > kMostShown ? " …" : ""));
}

bool is_job_number(const std::string& argument) {
    std::error_code ignored;
    return core::parse_number<uint64_t>(argument) && !fs::exists(fs::symlink_status(argument, ignored));
}

}  // namespace

Result<fs::path> find_record(const core::CommandContext& context, const std::string& argument) {
    fs::path record = argument;
    if (is_job_number(argument)) {
        BELAY_TRY(found, record_of_job(context, argument));
        record = std::move(found);
    }
    return record;
}

}  // namespace belay::cli
