#include "bench/summary/summarize.h"

#include "core/new_file.h"
#include "core/parallel.h"

#include <algorithm>

namespace belay::bench {

namespace {

using core::Result;

constexpr std::string_view kScalingName = "scaling.json";

// A folder of logs and the verdicts on them, pruned ones last.
struct FolderVerdicts {
    const Package* package = nullptr;
    const SystemFolder* system = nullptr;
    const BenchmarkFolder* folder = nullptr;
    std::vector<LogVerdict> verdicts;
};

struct LogTask {
    size_t folder = 0, log = 0;
};

std::string name_in(const BenchmarkFolder& folder, std::string_view name) {
    return folder.path.empty() ? std::string(name) : fmt::format("{}/{}", folder.path, name);
}

const std::string& log_at(const BenchmarkFolder& folder, size_t at) {
    return at < folder.logs.size() ? folder.logs[at] : folder.pruned_logs[at - folder.logs.size()];
}

std::vector<FolderVerdicts> folders_of(const std::vector<Package>& packages) {
    std::vector<FolderVerdicts> folders;
    for (const Package& package : packages)
        for (const SystemFolder& system : package.systems)
            for (const BenchmarkFolder& folder : system.benchmarks)
                folders.push_back({&package, &system, &folder,
                                   std::vector<LogVerdict>(folder.logs.size() + folder.pruned_logs.size())});
    return folders;
}

LogVerdict unreadable(const std::string& file, const core::Error& error) {
    LogVerdict verdict{.file = file};
    verdict.errors.push_back({.line = 0, .key = "", .text = error.message()});
    return verdict;
}

// A file that is too large is not read to its limit first.
Result<std::string> read_log(const core::Directory& root, const std::string& file) {
    BELAY_TRY(facts, root.facts(file));
    if (facts && facts->bytes > kMostLogBytes)
        return core::bad_input("{} has {} bytes, more than the {} that a log may have", file, facts->bytes,
                               kMostLogBytes);
    return root.read_file(file, kMostLogBytes);
}

// Of every log of every folder at once, so that the last folder does not wait for one thread.
Result<> check_logs(const core::Directory& root, std::vector<FolderVerdicts>& folders, const LogCheck& check,
                    size_t threads) {
    std::vector<LogTask> tasks;
    for (size_t folder = 0; folder < folders.size(); ++folder)
        for (size_t log = 0; log < folders[folder].verdicts.size(); ++log) tasks.push_back({folder, log});
    return core::in_parallel(tasks.size(), threads, [&](size_t at) -> Result<> {
        FolderVerdicts& of_folder = folders[tasks[at].folder];
        const std::string file = name_in(*of_folder.folder, log_at(*of_folder.folder, tasks[at].log));
        const auto bytes = read_log(root, file);
        of_folder.verdicts[tasks[at].log] = bytes ? check(file, *bytes) : unreadable(file, bytes.error());
        return {};
    });
}

// As the official RCP checker leaves it: the factor, or no file.
Result<> write_scaling(const core::Directory& root, const SummaryRow& row, const BenchmarkFolder& folder) {
    const std::string name = name_in(folder, kScalingName);
    if (!row.scaling_to_write) return folder.scaling_file ? root.remove_file(name) : Result<>();
    BELAY_TRY(file, core::NewFile::begin(root, name, 0644));
    BELAY_CHECK(core::write_all(file.fd(), format_scaling(*row.scaling_to_write), name));
    return std::move(file).replace();
}

// The rows of one package; `at` is its first folder, and afterwards the next package's.
Result<std::vector<SummaryRow>> rows_of(const core::Directory& root, const Package& package,
                                        const std::vector<FolderVerdicts>& folders, size_t& at,
                                        const SummarizeOptions& options) {
    std::vector<SummaryRow> rows;
    if (!package.problems.empty()) rows.push_back(row_of_problems(package, nullptr, options.judge));
    for (const SystemFolder& system : package.systems) {
        if (!system.problems.empty()) rows.push_back(row_of_problems(package, &system, options.judge));
        for (; at < folders.size() && folders[at].system == &system; ++at) {
            rows.push_back(judge(package, system, *folders[at].folder, folders[at].verdicts, options.judge));
            if (options.write_scaling && rows.back().rcp != "na")
                BELAY_CHECK(write_scaling(root, rows.back(), *folders[at].folder));
        }
    }
    judge_together(rows, options.judge);
    return rows;
}

}  // namespace

Result<std::vector<SummaryRow>> summarize(const std::filesystem::path& directory, const LogCheck& check,
                                          const SummarizeOptions& options) {
    auto opened = core::Directory::open(directory);
    if (!opened) return std::unexpected(std::move(opened.error()).as(core::ErrorKind::kBadInput));
    const core::Directory& root = *opened;
    BELAY_TRY(packages, walk_packages(root, options.judge.official));
    std::vector<FolderVerdicts> folders = folders_of(packages);
    BELAY_CHECK(check_logs(root, folders, check, options.threads));
    std::vector<SummaryRow> rows;
    size_t at = 0;
    for (const Package& package : packages) {
        BELAY_TRY(more, rows_of(root, package, folders, at, options));
        std::ranges::move(more, std::back_inserter(rows));
    }
    return rows;
}

bool has_errors(std::span<const SummaryRow> rows) {
    return std::ranges::any_of(rows, [](const SummaryRow& row) { return !row.errors.empty(); });
}

}  // namespace belay::bench
