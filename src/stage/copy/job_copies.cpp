#include "stage/copy/job_copies.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/new_file.h"
#include "core/utf8.h"
#include "stage/copy/job_copies_name.h"

#include <climits>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::Result;

Result<std::string> prefix_of(const JobOnNode& where) {
    char text[NAME_MAX - 16];
    if (write_notes_prefix(text, sizeof text, geteuid(), where.node.c_str(), where.job)) return std::string(text);
    return core::bad_input("{} is not the name of a node", core::printable(where.node));
}

// Anybody may put files there.
Result<std::string> read_own(const core::Directory& notes, const std::string& name) {
    BELAY_TRY(file, notes.open_file(name, O_RDONLY | O_NONBLOCK));
    struct stat facts{};
    if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid())
        return core::bad_input("{} is not a file of yours", core::printable(notes.path_of(name).string()));
    return notes.read_file(name, PATH_MAX);
}

}  // namespace

Result<> note_for_job(const JobOnNode& where, const fs::path& destination, const fs::path& notes) {
    BELAY_TRY(prefix, prefix_of(where));
    BELAY_TRY(directory, core::Directory::open(notes));
    // One note for each, however often it is copied.
    const std::string name = fmt::format("{}{:016x}", prefix, core::fnv1a(destination.native()));
    BELAY_TRY(file, core::NewFile::begin(directory, name));
    BELAY_CHECK(core::write_all(file.fd(), destination.native(), file.path().string()));
    BELAY_CHECK(std::move(file).create());
    return {};
}

Result<JobCleaning> clean_for_job(const JobOnNode& where, const fs::path& notes) {
    BELAY_TRY(prefix, prefix_of(where));
    BELAY_TRY(directory, core::Directory::open(notes));
    BELAY_TRY(names, directory.list());
    JobCleaning done;
    for (const std::string& name : names) {
        if (!name.starts_with(prefix)) continue;
        auto path = read_own(directory, name);
        if (!path) continue;
        auto cleaned = clean_copy(*path);
        if (cleaned)
            done.cleaned.emplace_back(*path);
        else if (cleaned.error().cause() != core::Cause::kNotFound && cleaned.error().kind() != core::ErrorKind::kBadInput)
            done.failed.push_back(std::move(cleaned.error()));
        (void)directory.remove_file(name);
    }
    return done;
}

}  // namespace belay::stage
