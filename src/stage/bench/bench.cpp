#include "stage/bench/bench.h"

#include "core/new_file.h"
#include "core/text.h"
#include "core/units.h"
#include "stage/bench/bench_plan.h"
#include "stage/bench/workload.h"
#include "stage/space/space.h"
#include "stage/walk/named_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <utility>

namespace belay::stage {

namespace {

using core::Result;
namespace fs = std::filesystem;

constexpr uint64_t kLeastBytes = 4096;
constexpr uint64_t kMostBlock = uint64_t{1} << 30;
constexpr std::string_view kServersUnknown = "what the file system's servers held in memory is not known";

struct FileSystemName {
    uint32_t magic;
    std::string_view name;
    bool is_local = false;  // each node has its own
};
// statfs(2) and the headers of those that are not part of Linux.
constexpr std::array<FileSystemName, 13> kFileSystems = {{
    {0xEF53, "ext4", true},
    {0x58465342, "xfs", true},
    {0x9123683E, "btrfs", true},
    {0x01021994, "tmpfs", true},
    {0x6969, "nfs"},
    {0x0BD00BD0, "lustre"},
    {0x47504653, "gpfs"},
    {0x19830326, "beegfs"},
    {0x00c36400, "ceph"},
    {0x2fc12fc1, "zfs", true},
    {0x65735546, "fuse"},
    {0x794c7630, "overlay", true},
    {0x01161970, "gfs2"},
}};

Result<std::string> file_system_of(const core::Directory& directory) {
    struct statfs status{};
    if (fstatfs(directory.fd(), &status) != 0)
        return core::errno_error(
            errno, fmt::format("cannot look at the file system of {}", directory.path().string()));
    const auto magic = static_cast<uint32_t>(status.f_type);
    const auto* found = std::ranges::find(kFileSystems, magic, &FileSystemName::magic);
    return found != kFileSystems.end() ? std::string(found->name) : fmt::format("{:#010x}", magic);
}

bool is_local(std::string_view file_system) {
    const auto* found = std::ranges::find(kFileSystems, file_system, &FileSystemName::name);
    return found != kFileSystems.end() && found->is_local;
}

// What the runs write, all of it at once at most; of all nodes together where they share the file system.
Need needed(const BenchOptions& options, const std::vector<std::string>& tests,
            std::string_view file_system) {
    constexpr double kDeviations = 8;  // of the largest sample that is drawn
    uint64_t bytes = 0;
    uint64_t files = options.threads;
    bool has_large = false;
    for (const std::string& test : tests) {
        if ((test == "sequential" || test == "random") && !std::exchange(has_large, true))
            bytes += options.bytes;
        if (test == "checkpoint") bytes += options.bytes;
        if (test == "files" || test == "shard") bytes += options.files * options.file_bytes;
        if (test == "files" || test == "metadata") files += options.files;
    }
    uint64_t training = 0;  // one model after the other; of each a sample at least
    if (std::ranges::find(tests, "training") != tests.end())
        for (const EmulatedModel& model : emulated_models())
            if (std::ranges::find(options.models, model.name) != options.models.end())
                training = std::max(
                    {training, options.bytes,
                     static_cast<uint64_t>(model.record_bytes + kDeviations * model.record_deviation)});
    const uint64_t sharers = is_local(file_system) ? 1 : options.nodes;
    return {.bytes = (bytes + training) * sharers, .files = files * sharers};
}

Result<> check_range(std::string_view what, uint64_t value, uint64_t least, uint64_t most) {
    if (value >= least && value <= most) return {};
    return core::bad_input("{} {}: is not between {} and {}", what, value, least, most);
}

Result<> check_given(const GivenTraining& given, uint64_t accelerators) {
    constexpr double kMostSeconds = 3600;
    constexpr uint64_t kMostThreads = 4096;
    BELAY_CHECK(check_range("--batch", given.batch, 1, 1'000'000));
    BELAY_CHECK(check_range("--workers", given.workers, 0, 256));
    BELAY_CHECK(check_range("--prefetch", given.prefetch, 1, 1000));
    if (given.workers * accelerators > kMostThreads)
        return core::bad_input("--workers {}: with {} these are more than {} threads", given.workers,
                               core::format_count(accelerators, "accelerator"), kMostThreads);
    if (!(given.compute_seconds >= 0 && given.compute_seconds <= kMostSeconds))
        return core::bad_input("--compute-seconds {:g}: is not between 0 and {:g}", given.compute_seconds,
                               kMostSeconds);
    return {};
}

Result<> check_options(const BenchOptions& options) {
    BELAY_CHECK(check_range("--size", options.bytes, kLeastBytes, uint64_t{1} << 50));
    BELAY_CHECK(check_range("--block", options.block_bytes, kLeastBytes, kMostBlock));
    BELAY_CHECK(check_range("--random-block", options.random_bytes, 1, kMostBlock));
    BELAY_CHECK(check_range("--operations", options.operations, 1, 1'000'000'000));
    BELAY_CHECK(check_range("--files", options.files, 1, 100'000'000));
    BELAY_CHECK(check_range("--file-size", options.file_bytes, 1, kMostBlock));
    BELAY_CHECK(check_range("--threads", options.threads, 1, 4096));
    BELAY_CHECK(check_range("--accelerators", options.accelerators, 1, 256));
    if (options.steps) BELAY_CHECK(check_range("--steps", *options.steps, 1, 1'000'000));
    BELAY_CHECK(check_range("--epochs", options.epochs, 1, 1000));
    if (options.given) BELAY_CHECK(check_given(*options.given, options.accelerators));
    if (options.block_bytes % kDirectAlignment != 0)
        return core::bad_input("--block {}: is not a multiple of {}, as O_DIRECT needs it",
                               options.block_bytes, kDirectAlignment);
    if (options.bytes / options.threads < std::max(kLeastBytes, options.random_bytes))
        return core::bad_input("--size {}: leaves less than a block for each of {}", options.bytes,
                               core::format_count(options.threads, "thread"))
            .hint("write a larger size, or fewer threads");
    const auto known = bench_tests();
    for (const std::string& test : options.tests)
        if (std::ranges::find(known, test) == known.end())
            return core::bad_input("there is no test \"{}\"", test)
                .hint(fmt::format("there are {}", core::join(known, ", ")));
    for (const std::string& model : options.models)
        if (std::ranges::find(emulated_models(), model, &EmulatedModel::name) == emulated_models().end())
            return core::bad_input("there is no model \"{}\"", model)
                .hint("there are unet3d, resnet50, cosmoflow");
    return {};
}

// Removes what lies in it: files, and directories to any depth. What is left is found by its name.
void remove_content(const core::Directory& directory) {
    const auto names = directory.list();
    if (!names) return;
    for (const std::string& name : *names) {
        if (directory.remove_file(name)) continue;
        if (const auto inner = directory.enter(name)) remove_content(*inner);
        (void)directory.remove_directory(name);
    }
}

// A directory that goes with all its content. By its descriptor, since whoever may rename in `parent` may put another user's
// directory in its place; under its name only an empty one is removed.
class Workspace {
  public:
    static Result<Workspace> make(core::Directory parent) {
        BELAY_TRY(name, core::random_name(".belay-bench-"));
        BELAY_CHECK(parent.make_directory(name));
        BELAY_TRY(directory, parent.enter(name));
        return Workspace(Held{std::move(parent), name, std::move(directory)});
    }
    Workspace(Workspace&& other) noexcept = default;
    Workspace& operator=(Workspace&&) = delete;
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    ~Workspace() {
        if (!held_) return;
        remove_content(held_->directory);
        (void)held_->parent.remove_directory(held_->name);
    }
    const core::Directory& directory() const { return held_->directory; }

  private:
    struct Held {
        core::Directory parent;
        std::string name;
        core::Directory directory;
    };
    explicit Workspace(Held held) : held_(std::make_unique<Held>(std::move(held))) {}
    std::unique_ptr<Held> held_;
};

Result<BenchReport> run_given(BenchOptions options) {
    options.tests = {"training"};
    options.models.clear();
    options.direct = DirectMode::kNever;  // read as a program reads them
    BELAY_TRY(data, open_named_directory(options.given->data));
    BenchReport report{.directory = options.given->data.string(), .options = options};
    BELAY_TRY(file_system, file_system_of(data));
    report.file_system = std::move(file_system);
    BenchRun run{.directory = data, .options = options, .report = report};
    BELAY_CHECK(emulate_given_training(run));
    report.notes.emplace_back(kServersUnknown);
    return report;
}

}  // namespace

std::vector<std::string> bench_tests() {
    std::vector<std::string> names;
    for (const BenchTest& test : bench_workloads()) names.emplace_back(test.name);
    return names;
}

Result<BenchReport> run_bench(const fs::path& directory, const BenchOptions& options) {
    BELAY_CHECK(check_options(options));
    if (options.given) return run_given(options);
    BELAY_TRY(parent, open_named_directory(directory));
    const std::vector<std::string> tests = options.tests.empty() ? bench_tests() : options.tests;
    BELAY_TRY(file_system, file_system_of(parent));
    BELAY_CHECK(check_space(parent, needed(options, tests, file_system)));
    BenchReport report{.directory = directory.string(), .options = options};
    report.options.tests = tests;
    report.file_system = std::move(file_system);
    BELAY_TRY(workspace, Workspace::make(std::move(parent)));
    BenchRun run{.directory = workspace.directory(), .options = options, .report = report};
    for (const BenchTest& test : bench_workloads())
        if (std::ranges::find(tests, test.name) != tests.end()) BELAY_CHECK(test.run(run));
    report.notes.emplace_back(kServersUnknown);
    return report;
}

}  // namespace belay::stage
