#include "stage/scan/scan.h"

#include "stage/walk/named_directory.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <iterator>
#include <sys/stat.h>
#include <utility>

namespace belay::stage {

using core::Result;

namespace {

// Figures that could not be measured count as free: what is advised then rests on the others.
double or_zero(double value) {
    return std::isfinite(value) ? value : 0;
}

// A look at a name that is in no cache and an open: what a shuffled epoch pays for each file.
double open_seconds(const Scan& scan) {
    const double look =
        scan.walk.looks > 0 ? scan.walk.look_seconds / static_cast<double>(scan.walk.looks) : 0;
    return look + scan.speed.open_seconds;
}

CostInput input_of(const Scan& scan, const ScanOptions& options) {
    CostInput input{.files = scan.sums.files.files,
                    .bytes = scan.sums.files.bytes,
                    .open_seconds = or_zero(scan.open_seconds),
                    .read_bytes_per_second = std::isfinite(scan.speed.read_bytes_per_second)
                                                 ? scan.speed.read_bytes_per_second
                                                 : INFINITY,
                    .inode_quota = options.inode_quota,
                    .epochs = options.epochs,
                    .workers = static_cast<double>(options.workers)};
    if (scan.local) {
        input.local_bytes_per_second = scan.local->read_bytes_per_second;
        input.local_free_bytes = scan.local->free_bytes;
    }
    return input;
}

Result<bool> are_on_one_file_system(const core::Directory& root, const std::filesystem::path& other) {
    BELAY_TRY(opened, open_named_directory(other));
    struct stat one{}, two{};
    if (fstat(root.fd(), &one) != 0 || fstat(opened.fd(), &two) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", other.string()));
    return one.st_dev == two.st_dev;
}

}  // namespace

Result<Scan> scan(const std::filesystem::path& directory, const ScanOptions& options) {
    BELAY_TRY(root, open_named_directory(directory));
    Scan result;
    if (options.local) {  // first: a mistake in its name is told before a walk of hours
        BELAY_TRY(is_same, are_on_one_file_system(root, *options.local));
        result.local_is_same = is_same;
        if (!is_same) {
            BELAY_TRY(local, measure_local(*options.local));
            result.local = local;
        }
    }
    auto tell = [&](std::string_view phase, uint64_t done) {
        if (options.progress) options.progress(phase, done);
    };
    std::vector<TreeSums> parts(std::max<size_t>(options.threads, 1));
    BELAY_TRY(walked,
              walk(root,
                   {.threads = parts.size(),
                    .most_calls_per_second = options.most_calls_per_second,
                    .stop = options.stop,
                    .progress = [&](uint64_t looked) { tell("reading the tree", looked); }},
                   [&](size_t thread, const Listing& listing) { parts[thread].add(listing, options.now); }));
    result.walk = std::move(walked);
    for (const TreeSums& part : parts) result.sums.add(part);
    tell("reading a sample of the files", 0);
    const std::set<Candidate>& sample = result.sums.sample.files();
    BELAY_TRY(speed, measure_reading(root, sample, options.workers, options.stop));
    result.walk.problem_count += speed.problem_count;
    std::ranges::move(std::exchange(speed.problems, {}), std::back_inserter(result.walk.problems));
    result.speed = std::move(speed);
    result.compressed_share = compressed_share(root, sample, options.workers, options.stop);
    result.duplicates = count_duplicates(root, result.sums.same_size, options.workers, options.stop);
    if (options.stop != nullptr && *options.stop)
        return core::system_error("reading {} was stopped", directory.string())
            .because(core::Cause::kCancelled);
    result.open_seconds = open_seconds(result);
    result.cost_input = input_of(result, options);
    result.cost = predict(result.cost_input);
    return result;
}

}  // namespace belay::stage
