#include "stage/lint/series.h"

#include "core/parallel.h"
#include "core/text.h"
#include "stage/lint/names.h"
#include "stage/walk/named_directory.h"
#include "stage/walk/now_and_then.h"
#include "stage/walk/walk.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::Result;
namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kPointers = {"latest_checkpointed_iteration.txt", "latest"};
constexpr size_t kMostPointerBytes = 4096;
constexpr size_t kWalkers = 4;
constexpr size_t kReaders = 8;
constexpr uint64_t kReadAtOnce = uint64_t{1} << 30;
constexpr int kDeepest = 8;  // directories of series in each other

// The files beneath a directory, by the first part of their names; those in it itself stand at "".
std::map<std::string, std::vector<CheckpointFile>> by_directory(std::vector<CheckpointFile> files) {
    std::map<std::string, std::vector<CheckpointFile>> parts;
    for (CheckpointFile& file : files) {
        const size_t slash = file.name.find('/');
        const std::string part = slash == std::string::npos ? "" : file.name.substr(0, slash);
        if (slash != std::string::npos) file.name.erase(0, slash + 1);
        parts[part].push_back(std::move(file));
    }
    return parts;
}

bool is_rank_directory(std::string_view name) {
    return rank_name(name).has_value();
}

// Files of torch.save beside each other: by the number of steps in their names, where there are several.
std::vector<CheckpointContent> by_step(std::vector<CheckpointFile> files, const std::string& name,
                                       std::optional<int64_t> step) {
    std::map<int64_t, std::vector<CheckpointFile>> steps;
    if (checkpoint_format(files) == "torch.save")
        for (const CheckpointFile& file : files)
            if (const auto number = step_of(file.name); number && checkpoint_format({file}))
                steps[*number].push_back(file);
    if (steps.size() < 2)
        return {
            {.name = name.empty() ? "." : name, .directory = name, .step = step, .files = std::move(files)}};
    std::vector<CheckpointContent> contents;
    const std::string prefix = name.empty() ? "" : name + "/";
    for (auto& [number, part] : steps) {
        std::string title = prefix + part.front().name;
        if (part.size() > 1) {
            const auto rank = rank_name(part.front().name);
            title = rank ? prefix + rank->others : fmt::format("{} and {} more", title, part.size() - 1);
        }
        contents.push_back(
            {.name = std::move(title), .directory = name, .step = number, .files = std::move(part)});
    }
    return contents;
}

void divide_into(std::vector<CheckpointContent>& contents, std::vector<CheckpointFile> files,
                 const std::string& path, std::string_view own_name, int depth) {
    auto parts = by_directory(files);
    // "checkpoint-10" may hold a "global_step10"; with several of these it is a series, "checkpoints_8b".
    const auto steps_beneath = std::ranges::count_if(parts, [](const auto& part) {
        return !part.first.empty() && is_step_directory(part.first) &&
               checkpoint_format(part.second).has_value();
    });
    const bool is_one = is_step_directory(own_name) && steps_beneath <= 1;
    std::vector<std::string> series;
    if (!is_one)
        for (const auto& [part, beneath] : parts)
            if (!part.empty() && !is_rank_directory(part) &&
                (is_step_directory(part) || is_temporary_name(part)) && checkpoint_format(beneath))
                series.push_back(part);
    auto direct = parts.contains("") ? parts.at("") : std::vector<CheckpointFile>();
    const bool has_ranks = std::ranges::any_of(parts, [](const auto& part) {
        return is_rank_directory(part.first) && checkpoint_format(part.second).has_value();
    });
    if (is_one || (series.empty() && (checkpoint_format(direct) || has_ranks)) || depth >= kDeepest) {
        if (!checkpoint_format(files) && !is_one) return;
        if (parts.size() == 1 && !direct.empty() && !is_one) {
            for (CheckpointContent& content : by_step(std::move(files), path, step_of(own_name)))
                contents.push_back(std::move(content));
            return;
        }
        contents.push_back({.name = path.empty() ? "." : path,
                            .directory = path,
                            .step = step_of(own_name),
                            .files = std::move(files)});
        return;
    }
    for (auto& [part, beneath] : parts)
        if (!part.empty())
            divide_into(contents, std::move(beneath), path.empty() ? part : path + "/" + part, part,
                        depth + 1);
    if (checkpoint_format(direct))
        for (CheckpointContent& content : by_step(std::move(direct), path, std::nullopt))
            contents.push_back(std::move(content));
}

// Pieces of files, of which the last few stay open: a large one is read in thousands of pieces.
class PieceReader {
  public:
    PieceReader(const core::Directory& root, const std::function<void(uint64_t)>& progress)
        : root_(root), shown_(progress) {}

    Result<std::string> read(const std::string& name, uint64_t offset, size_t size) {
        if (size > kReadAtOnce)
            return core::bad_input("{}: is too large to be read", root_.path_of(name).string());
        BELAY_TRY(file, opened(name));
        std::string bytes(size, '\0');
        size_t done = 0;
        while (done < size) {
            const ssize_t got =
                pread(file->get(), bytes.data() + done, size - done, static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0)
                return core::errno_error(errno, fmt::format("cannot read {}", root_.path_of(name).string()));
            if (got == 0) break;
            done += static_cast<size_t>(got);
        }
        bytes.resize(done);
        shown_.add(done);
        return bytes;
    }

  private:
    struct Open {
        std::string name;
        std::shared_ptr<const core::Descriptor> file;
    };

    Result<std::shared_ptr<const core::Descriptor>> opened(const std::string& name) {
        {
            const std::lock_guard lock(mutex_);
            if (const auto found = std::ranges::find(open_, name, &Open::name); found != open_.end())
                return found->file;
        }
        BELAY_TRY(file, root_.open_quietly(name));
        auto shared = std::make_shared<const core::Descriptor>(std::move(file));
        const std::lock_guard lock(mutex_);
        if (open_.size() >= kKeptOpen) open_.pop_front();
        open_.push_back({name, shared});
        return shared;
    }

    static constexpr size_t kKeptOpen = 2 * kReaders;
    const core::Directory& root_;
    NowAndThen shown_;
    std::mutex mutex_;
    std::deque<Open> open_;  // the one that was opened first in front
};

// In the directory, or the one above it.
Result<std::optional<CheckpointPointer>> pointer_in(const core::Directory& root, std::string_view directory) {
    for (const std::string_view file : kPointers) {
        const std::string name = path_beneath(directory, file);
        BELAY_TRY(facts, root.facts(name));
        if (!facts || facts->type != core::FileType::kRegular) continue;
        BELAY_TRY(text, root.read_file(name, kMostPointerBytes));
        return CheckpointPointer{.file = std::string(file),
                                 .text = std::string(core::trim(core::split(text, '\n').front()))};
    }
    return std::nullopt;
}

std::string parent_of(std::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash));
}

Result<std::vector<CheckpointFile>> list_files(const core::Directory& root, CheckpointSeries& series) {
    std::mutex mutex;
    std::vector<CheckpointFile> files;
    BELAY_TRY(report, walk(root, {.threads = kWalkers}, [&](size_t, const Listing& listing) {
                  const std::lock_guard lock(mutex);
                  for (const Entry& entry : listing.entries)
                      if (entry.type == core::FileType::kRegular)
                          files.push_back({.name = listing.path_of(entry.name),
                                           .bytes = entry.bytes,
                                           .modified = entry.modified,
                                           .allocated_bytes = entry.allocated_bytes});
              }));
    for (const WalkProblem& problem : report.problems)
        series.notes.push_back(fmt::format("not read: {}: {}", problem.path,
                                           std::generic_category().message(problem.errno_value)));
    std::ranges::sort(files, {}, &CheckpointFile::name);
    return files;
}

// That of the checkpoint itself (Hugging Face writes DeepSpeed's within its own directory), or of its series.
Result<std::optional<CheckpointPointer>> pointer_of(const core::Directory& root,
                                                    const std::optional<core::Directory>& above,
                                                    const CheckpointContent& content) {
    BELAY_TRY(own, pointer_in(root, content.directory));
    if (own) return own;
    if (content.directory.empty()) return above ? pointer_in(*above, "") : std::optional<CheckpointPointer>();
    return pointer_in(root, parent_of(content.directory));
}

}  // namespace

std::vector<CheckpointContent> divide(std::vector<CheckpointFile> files, const std::string& own_name) {
    std::vector<CheckpointContent> contents;
    divide_into(contents, std::move(files), "", own_name, 0);
    return contents;
}

Result<CheckpointSeries> lint(const fs::path& directory, CheckpointDemand demand,
                              const std::function<void(uint64_t bytes)>& progress) {
    BELAY_TRY(root, open_named_directory(directory));
    CheckpointSeries series;
    BELAY_TRY(files, list_files(root, series));
    std::error_code code;
    const fs::path named = fs::canonical(directory, code);
    if (code) return core::errno_error(code, fmt::format("cannot tell the path of {}", directory.string()));
    auto contents = divide(std::move(files), named.filename().string());
    if (contents.empty())
        return core::bad_input("{} holds no checkpoint", directory.string())
            .hint(fmt::format("known are files of {}", fmt::join(checkpoint_formats(), ", ")));
    std::optional<core::Directory> above;
    if (is_step_directory(named.filename().string()))
        if (auto opened = core::Directory::open(named.parent_path())) above = std::move(*opened);
    std::set<std::optional<int64_t>> steps;
    std::optional<CheckpointPointer> pointer;
    PieceReader reader(root, progress);
    for (CheckpointContent& content : contents) {
        BELAY_TRY(found, pointer_of(root, above, content));
        content.pointer = std::move(found);
        if (content.pointer) pointer = content.pointer;
        steps.insert(content.step);
        content.read = [&](const std::string& name, uint64_t offset, size_t size) {
            return reader.read(path_beneath(content.directory, name), offset, size);
        };
    }
    // One checkpoint of many files, or many of one file.
    demand.readers = std::max<size_t>(kReaders / contents.size(), 1);
    series.checkpoints.resize(contents.size());
    BELAY_CHECK(core::in_parallel(contents.size(), kReaders, [&](size_t number) -> Result<> {
        BELAY_TRY(checkpoint, judge(contents[number], demand));
        series.checkpoints[number] = std::move(checkpoint);
        return {};
    }));
    if (pointer && !above)
        if (const auto step = step_of(pointer->text); step && !steps.contains(step))
            series.notes.push_back(
                fmt::format("{} names {}, which is not there", pointer->file, pointer->text));
    if (!demand.ranks) compare_ranks(series.checkpoints);
    sort_newest_first(series.checkpoints);
    return series;
}

}  // namespace belay::stage
