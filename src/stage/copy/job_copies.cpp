#include "stage/copy/job_copies.h"

#include "core/file.h"
#include "core/new_file.h"
#include "core/text.h"
#include "core/utf8.h"
#include "stage/copy/job_copies_name.h"
#include "stage/copy/store.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::Directory;
using core::Result;

constexpr std::string_view kFirstLine = "belay copy 2";
constexpr std::string_view kEnded =
    ".old";  // at the end of a note: its job has ended, and could not remove its data
constexpr std::string_view kTurnStart = "belay-clean-";  // of the file that those hold who clean

// What a note says: lines, and the path as the rest, since it may hold anything.
struct Noted {
    // Of a single file all counts; of a directory its path, its identity and the plan.
    CopiedFile file = {};
    bool is_file = false;

    // The same data, under whatever name they were noted.
    bool is_same_place(const Noted& other) const { return file.identity.is_same(other.file.identity); }
    bool is_same_copy(const Noted& other) const {
        return is_same_place(other) && file.plan == other.file.plan;
    }
};

std::string encode(const Noted& noted) {
    const CopiedFile& file = noted.file;
    return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", kFirstLine, noted.is_file ? "file" : "directory",
                       core::to_hex(file.plan), file.identity.device, file.identity.mark.inode,
                       file.identity.mark.born, file.bytes, file.modified, file.path.native());
}

std::optional<core::Sha256Digest> digest_from(std::string_view hex) {
    constexpr int kHexadecimal = 16;
    core::Sha256Digest digest{};
    if (hex.size() != 2 * digest.size()) return std::nullopt;
    for (size_t i = 0; i < digest.size(); ++i) {
        const char* end = hex.data() + 2 * i + 2;
        if (const auto [at, error] = std::from_chars(end - 2, end, digest[i], kHexadecimal); at != end)
            return std::nullopt;
    }
    return digest;
}

std::optional<Noted> decode(std::string_view text) {
    std::array<std::string_view, 8> lines;
    for (std::string_view& line : lines) {
        const size_t end = text.find('\n');
        if (end == std::string_view::npos) return std::nullopt;
        line = text.substr(0, end);
        text.remove_prefix(end + 1);
    }
    const auto plan = digest_from(lines[2]);
    const auto device = core::parse_number<uint64_t>(lines[3]),
               inode = core::parse_number<uint64_t>(lines[4]);
    const auto born = core::parse_number<int64_t>(lines[5]);
    const auto bytes = core::parse_number<uint64_t>(lines[6]);
    const auto modified = core::parse_number<int64_t>(lines[7]);
    if (lines[0] != kFirstLine || !plan || !device || !inode || !born || !bytes || !modified ||
        !text.starts_with('/'))
        return std::nullopt;
    return Noted{.file = {.path = fs::path(text),
                          .bytes = *bytes,
                          .modified = *modified,
                          .identity = {.device = *device, .mark = {.inode = *inode, .born = *born}},
                          .plan = *plan},
                 .is_file = lines[1] == "file"};
}

Result<std::string> prefix_of(const JobOnNode& where) {
    char text[NAME_MAX - 20];
    if (write_notes_prefix(text, sizeof text, geteuid(), where.node.c_str(), where.job))
        return std::string(text);
    return core::bad_input("{} is not the name of a node", core::printable(where.node));
}

// Anybody may put files there.
std::optional<Noted> read_own(const Directory& notes, const std::string& name) {
    auto file = notes.open_file(name, O_RDONLY | O_NONBLOCK);
    struct stat facts{};
    if (!file || fstat(file->get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid())
        return std::nullopt;
    const auto text = core::read_opened(file->get(), notes.path_of(name), size_t{2} * PATH_MAX);
    return text ? decode(*text) : std::nullopt;
}

struct Note {
    std::string name;
    Noted noted;
};

// Of this user, of any job on any node that shares this memory.
Result<std::vector<Note>> own_notes(const Directory& notes) {
    BELAY_TRY(names, notes.list());
    std::vector<Note> own;
    for (std::string& name : names)
        if (name.starts_with(fmt::format("{}{}-", kNotesStart, geteuid())))
            if (auto noted = read_own(notes, name)) own.push_back({std::move(name), std::move(*noted)});
    return own;
}

Result<Noted> noted_of(const CopyStore& store) {
    BELAY_TRY(identity, store.identity());
    const CopyTarget& target = store.target();
    Noted noted{.file = {.path = target.directory.path(), .identity = identity, .plan = store.digest()}};
    if (store.layout().plan().kind != CopyKind::kFile) return noted;
    const SourceFile& file = store.layout().files().front();
    noted.file.path = target.directory.path_of(target.name);
    noted.file.bytes = file.bytes;
    noted.file.modified = file.modified;
    noted.is_file = true;
    return noted;
}

Result<> remove_copy(const Noted& noted, const StillWanted& is_wanted) {
    const CleanScope scope{.plan = noted.file.plan, .directory = noted.file.identity};
    auto cleaned = noted.is_file ? clean_copied_file(noted.file, is_wanted)
                                 : clean_copy(noted.file.path, scope, is_wanted);
    if (cleaned || cleaned.error().cause() == core::Cause::kNotFound) return {};
    return std::unexpected(std::move(cleaned.error()));
}

// Whether a job that has not ended uses what the note of another one is about: as the same copy, or another one
// at the same place.
bool is_in_use(const std::vector<Note>& known, const Note& note, std::string_view ended_job,
               bool as_same_copy = false) {
    return std::ranges::any_of(known, [&](const Note& other) {
        return (as_same_copy ? other.noted.is_same_copy(note.noted)
                             : other.noted.is_same_place(note.noted)) &&
               !other.name.starts_with(ended_job) && !other.name.ends_with(kEnded);
    });
}

// Two jobs that end together would each leave the data to the other. Where it cannot be had, as when another
// user has taken the name, it goes without.
core::Descriptor turn_to_clean(const Directory& notes) {
    auto file =
        notes.open_file(fmt::format("{}{}", kTurnStart, geteuid()), O_RDWR | O_CREAT | O_NONBLOCK, 0600);
    struct stat facts{};
    if (!file || fstat(file->get(), &facts) != 0 || facts.st_uid != geteuid()) return {};
    while (flock(file->get(), LOCK_EX) != 0 && errno == EINTR) {
    }
    return std::move(*file);
}

Result<> remove_if_there(const Directory& notes, const std::string& name) {
    auto removed = notes.remove_file(name);
    if (!removed && removed.error().cause() == core::Cause::kNotFound) return {};
    return removed;
}

}  // namespace

Result<> note_for_job(const JobOnNode& where, const CopyStore& store, const fs::path& notes) {
    BELAY_TRY(prefix, prefix_of(where));
    BELAY_TRY(directory, Directory::open(notes));
    BELAY_TRY(known, own_notes(directory));
    BELAY_TRY(noted, noted_of(store));
    if (std::ranges::any_of(known, [&](const Note& note) {
            return note.noted.is_same_copy(noted) && note.name.starts_with(prefix);
        }))
        return {};
    if (store.had_files() &&
        std::ranges::none_of(known, [&](const Note& note) { return note.noted.is_same_place(noted); }))
        return {};
    BELAY_TRY(name, core::random_name(prefix));
    BELAY_TRY(file, core::NewFile::begin(directory, name));
    BELAY_CHECK(core::write_all(file.fd(), encode(noted), file.path().string()));
    return std::move(file).replace();
}

Result<JobCleaning> clean_for_job(const JobOnNode& where, const fs::path& notes) {
    BELAY_TRY(prefix, prefix_of(where));
    BELAY_TRY(directory, Directory::open(notes));
    const core::Descriptor turn = turn_to_clean(directory);
    BELAY_TRY(known, own_notes(directory));
    JobCleaning done;
    // The job that uses it still takes it away then.
    const auto leave_to_others = [&](const Note& note) {
        if (!note.name.ends_with(kEnded)) (void)directory.rename(note.name, note.name + std::string(kEnded));
    };
    for (const Note& note : known) {
        if (!note.name.starts_with(prefix)) continue;
        std::vector<Note> now = known;
        bool stays = is_in_use(now, note, prefix);
        const auto is_wanted = [&] {
            auto known_now = own_notes(directory);
            if (known_now) now = std::move(*known_now);
            return stays = !known_now || is_in_use(now, note, prefix);
        };
        if (!stays)
            if (auto removed = remove_copy(note.noted, is_wanted); !removed) {
                done.failed.push_back(std::move(removed.error()));
                leave_to_others(note);
                continue;
            }
        if (stays && !is_in_use(now, note, prefix, true)) {
            leave_to_others(note);
            continue;
        }
        if (!stays) {
            done.cleaned.push_back(note.noted.file.path);
            for (const Note& other : known) {
                if (!other.name.ends_with(kEnded) || !other.noted.is_same_place(note.noted)) continue;
                if (!other.noted.is_same_copy(note.noted) && !remove_copy(other.noted, {})) continue;
                BELAY_CHECK(remove_if_there(directory, other.name));
            }
        }
        BELAY_CHECK(remove_if_there(directory, note.name));
    }
    return done;
}

}  // namespace belay::stage
