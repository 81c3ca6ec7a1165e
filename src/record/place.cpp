#include "record/place.h"

#include "core/activity.h"
#include "core/json.h"
#include "core/process.h"
#include "core/user.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::record {

using core::bad_input;
using core::Directory;
using core::Result;
namespace fs = std::filesystem;

namespace {

// 100 bytes for each recorder of a job, and a command line; parsed it takes up to twenty times as much.
constexpr size_t kMaxManifestBytes = size_t{32} << 20;

core::Failure no_record(const fs::path& record) {
    const auto type = core::type_of_file(record);
    const std::string name = record.empty() ? "the empty name" : record.string();
    const std::string_view why = !type || *type == fs::file_type::directory ? "it has no record.json"
                                 : *type == fs::file_type::not_found ? "there is nothing with this name"
                                                                     : "it is a file, not a directory";
    return bad_input("{} is not a job record: {}", name, why)
        .hint("make one with: belay record run -o DIR -- COMMAND")
        .because(core::Cause::kNotFound);
}

core::Failure sealed_error(const fs::path& record) {
    return bad_input("{} is sealed: nothing can be added to it", record.string())
        .hint("choose another directory");
}

core::Failure belongs_to_another(const fs::path& path, uid_t owner) {
    return bad_input("{} belongs to {}, and only its owner changes a record", path.string(),
                     core::user_name(owner))
        .because(core::Cause::kDenied);
}

// What a job is recorded into must be the user's own: whoever owns a directory can exchange all that is in
// it.
Result<Directory> open_to_record(const fs::path& record) {
    BELAY_TRY(directory, Directory::open_trusted(record));
    BELAY_TRY(facts, directory.facts());
    if (facts.owner != geteuid())
        return belongs_to_another(record, facts.owner).hint("name a directory that does not exist yet");
    for (std::string_view name : {kManifestName, kSegmentsName}) BELAY_CHECK(check_own(directory, name));
    return directory;
}

// Root is no exception: what it wrote into a directory of another user, that user could turn against it.
Result<Directory> open_to_claim(const fs::path& record) {
    BELAY_TRY(directory, Directory::open_trusted(record));
    BELAY_TRY(facts, directory.facts());
    if (facts.owner != geteuid()) {
        const std::string name = core::user_name(facts.owner);
        const bool has_name = name != std::to_string(facts.owner);
        const std::vector<std::string> as_owner = {"sudo", "-u", has_name ? name : "#" + name};
        const std::vector<std::string> copy = {"cp", "-r", record.string(), "COPY"};
        return belongs_to_another(record, facts.owner)
            .hint(geteuid() == 0 ? fmt::format("put before the command: {}", core::quote_command(as_owner))
                                 : fmt::format("have {} do it, or do it with a copy of your own: {}", name,
                                               core::quote_command(copy)));
    }
    for (std::string_view name : {kManifestName, kSegmentsName, kLostSegmentsName, kTablesName, kAnnexesName})
        BELAY_CHECK(check_own(directory, name));
    return directory;
}

// False where the record is held in a way that excludes this. File systems without locks refuse in other
// ways: there the look at the segments' age must do.
bool lock(const Directory& record, int operation) {
    return flock(record.fd(), operation | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

// Two recorders of one job may know different details (only one asked Slurm for the submit time), never
// different jobs.
// Without Slurm nothing tells two runs from each other, so each needs a record of its own.
bool same_job(const JobFacts& a, const JobFacts& b) {
    if (!a.id || !b.id) return false;
    bool same_submit = !a.submit || !b.submit || *a.submit == *b.submit;
    return a.cluster == b.cluster && a.id == b.id && a.array_task == b.array_task && a.restart == b.restart &&
           same_submit;
}

// Whether what a step has to say of its environment or vetting is in the manifest already. Tasks that only
// join have nothing to say.
bool same_part(std::string_view existing, std::string_view wanted) {
    // Whatever the order of the keys.
    return wanted.empty() || core::parse_json(existing) == core::parse_json(wanted);
}

std::string how_it_differs(std::string_view owner) {
    if (owner == kEnvironmentPart) return "ran in another environment";
    if (owner == kVettingPart) return "was vetted with another protocol or another result";
    return fmt::format("differs in \"{}\"", owner);
}

Result<> refuse_other_step(const fs::path& record, std::string_view how) {
    return bad_input("{} is the record of a step of this job that {}", record.string(), how)
        .hint("choose another directory for this step: DIR-%s has the step's number");
}

Result<> check_same_run(const fs::path& record, const Manifest& existing, const Manifest& manifest) {
    if (existing.sealed) return sealed_error(record);
    if (!same_job(existing.job, manifest.job))
        return bad_input("{} is the record of another {}", record.string(),
                         existing.job.id
                             ? fmt::format("job ({}, restart {})", *existing.job.id, existing.job.restart)
                             : "run")
            .hint(
                "one record holds one run of one job: choose another directory, under Slurm "
                "DIR-$SLURM_JOB_ID-$SLURM_RESTART_COUNT");
    for (const auto& [owner, part] : manifest.parts)
        if (!same_part(part_of(existing.parts, owner), part))
            return refuse_other_step(record, how_it_differs(owner));
    return {};
}

// Makes `path` with 0700 unless it is there.
Result<> make_record_directory(const fs::path& path) {
    core::note_activity("create", path.native());
    const fs::path named = path.has_filename() ? path : path.parent_path();  // "r/"
    if (named.has_parent_path()) BELAY_CHECK(core::make_directories(named.parent_path()));
    if (mkdir(named.c_str(), 0700) != 0 && errno != EEXIST)
        return core::errno_error(errno, fmt::format("cannot create directory {}", path.string()));
    return {};
}

// Of a file system without modes the files are as private as it makes them.
void share_as(const Directory& directory, int made, unsigned bits) {
    const auto shared = directory.facts();
    struct stat status{};
    if (!shared || fstat(made, &status) != 0) return;
    const mode_t owners = status.st_mode & 07700U;
    (void)fchmod(made, owners | (shared->mode & bits));
}

constexpr unsigned kShareFile = 044;
constexpr unsigned kShareDirectory = 055;

// A record that another task is just beginning has a temporary file of its manifest, or its segments, before
// anything.
bool may_be_record(const std::vector<std::string>& names) {
    return names.empty() || std::ranges::any_of(names, [](const std::string& name) {
               return name.starts_with(kManifestName) || name == kSegmentsName;
           });
}

}  // namespace

Result<> check_place(const fs::path& record) {
    auto directory = open_to_record(record);
    if (!directory && directory.error().errno_value() == ENOTDIR)
        return bad_input("{} is not a directory", record.string())
            .hint("name a directory that does not exist yet");
    if (!directory && directory.error().kind() == core::ErrorKind::kBadInput)
        return std::unexpected(std::move(directory.error()));
    if (!directory) return {};  // it is not there, or whoever begins the record will be told why it cannot be
    auto names = directory->list();
    if (!names || may_be_record(*names)) return {};
    return bad_input("{} is not empty, and not a job record", record.string())
        .hint("name a directory that does not exist yet");
}

Result<Directory> open_record(const fs::path& record) {
    struct stat status{};
    const bool is_there = stat(record.c_str(), &status) == 0;
    if (is_there ? !S_ISDIR(status.st_mode) : errno == ENOENT || errno == ENOTDIR) return no_record(record);
    auto directory = Directory::open(record);
    if (!directory && is_there && directory.error().cause() == core::Cause::kDenied)
        return std::unexpected(std::move(directory.error())
                                   .hint(fmt::format("{} can share it: chmod -R go+rX {}",
                                                     core::user_name(status.st_uid), record.string())));
    return directory;
}

Result<Manifest> read_manifest(const Directory& record) {
    BELAY_TRY(facts, record.facts(kManifestName));
    if (!facts) return no_record(record.path());
    BELAY_TRY(text, record.read_file(kManifestName, kMaxManifestBytes));
    return manifest_from_json(text, manifest_path(record.path()).string());
}

Result<Manifest> read_manifest(const fs::path& record) {
    BELAY_TRY(directory, open_record(record));
    return read_manifest(directory);
}

Result<> begin_record(const fs::path& path, const Manifest& manifest) {
    BELAY_CHECK(make_record_directory(path));
    BELAY_TRY(record, open_to_record(path));
    // All tasks of a step come here at once; only where there is none yet is it worth writing and syncing
    // one.
    BELAY_TRY(facts, record.facts(kManifestName));
    if (!facts) {
        BELAY_TRY(file, begin_file(record, kManifestName));
        BELAY_CHECK(core::write_all(file.fd(), to_json(manifest), file.path().string()));
        BELAY_TRY(first, std::move(file).create());
        if (first) return make_directory(record, kSegmentsName);
    }
    BELAY_TRY(existing, read_manifest(record));
    BELAY_CHECK(check_same_run(path, existing, manifest));
    return make_directory(record, kSegmentsName);
}

Result<> replace_manifest(const Directory& record, const Manifest& manifest) {
    const std::string text = to_json(manifest);
    if (text.size() > kMaxManifestBytes)
        return core::system_error("{} would have {} bytes, more than the {} that a manifest may have",
                                  manifest_path(record.path()).string(), text.size(), kMaxManifestBytes);
    BELAY_TRY(file, begin_file(record, kManifestName));
    BELAY_CHECK(core::write_all(file.fd(), text, file.path().string()));
    return std::move(file).replace();
}

Result<Directory> join_record(const fs::path& path) {
    BELAY_TRY(record, open_to_record(path));
    if (!lock(record, LOCK_SH)) return bad_input("{} is being sealed", path.string());
    BELAY_TRY(manifest, read_manifest(record));
    if (manifest.sealed) return sealed_error(path);
    return record;
}

Result<Directory> claim_record(const fs::path& path) {
    BELAY_CHECK(read_manifest(path));  // what is no record is told as everywhere
    BELAY_TRY(record, open_to_claim(path));
    if (!lock(record, LOCK_EX))
        return bad_input("{} is being sealed by another process, or a recorder is just joining it",
                         path.string())
            .hint(fmt::format(
                "wait for it, or, if none of your processes holds it, seal a copy: {}",
                core::quote_command(std::vector<std::string>{"cp", "-r", path.string(), "COPY"})));
    return record;
}

Result<> check_own(const Directory& record, std::string_view name) {
    BELAY_TRY(facts, record.facts(name));
    if (!facts || facts->owner == geteuid()) return {};
    return bad_input("{} belongs to {}, not to the owner of the record", record.path_of(name).string(),
                     core::user_name(facts->owner))
        .hint("someone who may write to the record put it there: inspect it, and move it away")
        .because(core::Cause::kDenied);
}

Result<> make_directory(const Directory& record, std::string_view name) {
    BELAY_TRY(is_new, record.make_directory(name));
    if (!is_new) return check_own(record, name);
    BELAY_TRY(made, record.enter(name));
    share_as(record, made.fd(), kShareDirectory);
    return {};
}

Result<core::Descriptor> create_file(const Directory& directory, std::string_view name) {
    BELAY_TRY(file, directory.open_file(name, O_RDWR | O_CREAT | O_EXCL));
    share_as(directory, file.get(), kShareFile);
    return file;
}

Result<core::NewFile> begin_file(const Directory& record, std::string_view name) {
    BELAY_TRY(file, core::NewFile::begin(record, name));
    share_as(record, file.fd(), kShareFile);
    return file;
}

}  // namespace belay::record
