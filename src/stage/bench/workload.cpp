#include "stage/bench/workload.h"

#include "stage/bench/bench_plan.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::Result;

constexpr std::string_view kNamesCached = "names and inodes that this node has just made are in its memory";

uint64_t part_of(uint64_t total, size_t thread, size_t threads) {
    return total * (thread + 1) / threads - total * thread / threads;
}

std::string thread_file(std::string_view kind, size_t thread) {
    return fmt::format("{}-{}", kind, thread);
}

core::Error stopped() {
    return core::system_error("the benchmark was stopped").because(core::Cause::kCancelled).error();
}

std::string write_cache_text(bool is_direct) {
    return is_direct ? "bypassed (O_DIRECT); the time of the sync counts"
                     : "written through the page cache; the time of the sync counts";
}

// A file of one thread, in blocks, synced.
Result<bool> write_blocks(const BenchRun& run, const std::string& name, uint64_t bytes, BenchThread* thread) {
    BELAY_TRY(file, BenchFile::open(run.directory, name, O_WRONLY | O_CREAT | O_TRUNC, run.options.direct));
    const AlignedBuffer buffer(
        static_cast<size_t>(std::min(run.options.block_bytes, std::max<uint64_t>(bytes, 1))));
    for (uint64_t offset = 0; offset < bytes; offset += run.options.block_bytes) {
        if (run.is_stopped()) return std::unexpected(stopped());
        const uint64_t size = std::min(run.options.block_bytes, bytes - offset);
        buffer.vary(offset + run.options.seed);
        auto write = [&] { return file.write(offset, buffer, size); };
        if (thread != nullptr)
            BELAY_CHECK(thread->time(size, write));
        else
            BELAY_CHECK(write());
    }
    BELAY_CHECK(file.truncate(bytes));
    BELAY_CHECK(file.sync());
    return file.is_direct();
}

Result<> read_blocks(const BenchRun& run, const BenchFile& file, uint64_t bytes, BenchThread& thread) {
    const AlignedBuffer buffer(static_cast<size_t>(run.options.block_bytes) + kDirectAlignment);
    for (uint64_t offset = 0; offset < bytes; offset += run.options.block_bytes) {
        if (run.is_stopped()) return std::unexpected(stopped());
        const uint64_t size = std::min(run.options.block_bytes, bytes - offset);
        BELAY_CHECK(thread.time(size, [&] { return file.read_all(offset, size, buffer); }));
    }
    return {};
}

// Large files, one for each thread, that several tests read.
Result<std::vector<uint64_t>> large_files(BenchRun& run) {
    std::vector<uint64_t> sizes;
    for (size_t thread = 0; thread < run.options.threads; ++thread) {
        sizes.push_back(part_of(run.options.bytes, thread, run.options.threads));
        BELAY_CHECK(write_bench_file(run, thread_file("large", thread), sizes.back()));
    }
    return sizes;
}

Result<> test_sequential(BenchRun& run) {
    const size_t threads = run.options.threads;
    std::atomic<bool> is_direct = true;
    run.say("writing in order");
    BELAY_TRY(written, measure_threads(run, "sequential write", std::string(kBytesUnit),
                                       [&](size_t thread, BenchThread& times) -> Result<> {
                                           BELAY_TRY(direct,
                                                     write_blocks(run, thread_file("large", thread),
                                                                  part_of(run.options.bytes, thread, threads),
                                                                  &times));
                                           if (!direct) is_direct = false;
                                           return {};
                                       }));
    written.cache = write_cache_text(is_direct);
    run.report.results.push_back(std::move(written));
    CacheDrop drop;
    std::vector<BenchFile> files;
    for (size_t thread = 0; thread < threads; ++thread) {
        run.written[thread_file("large", thread)] = part_of(run.options.bytes, thread, threads);
        BELAY_TRY(file, drop.open(run, thread_file("large", thread)));
        files.push_back(std::move(file));
    }
    run.say("reading in order");
    BELAY_TRY(read, measure_threads(run, "sequential read", std::string(kBytesUnit),
                                    [&](size_t thread, BenchThread& times) {
                                        return read_blocks(run, files[thread],
                                                           part_of(run.options.bytes, thread, threads),
                                                           times);
                                    }));
    read.cache = drop.describe();
    run.report.results.push_back(std::move(read));
    return {};
}

Result<> test_random(BenchRun& run) {
    BELAY_TRY(sizes, large_files(run));
    CacheDrop drop;
    std::vector<BenchFile> files;
    for (size_t thread = 0; thread < sizes.size(); ++thread) {
        BELAY_TRY(file, drop.open(run, thread_file("large", thread)));
        if (!file.is_direct())
            (void)posix_fadvise(file.fd(), 0, 0, POSIX_FADV_RANDOM);  // else the kernel reads ahead
        files.push_back(std::move(file));
    }
    run.say("reading at random");
    BELAY_TRY(read, measure_threads(
                        run, "random read", std::string(kOperationsUnit),
                        [&](size_t thread, BenchThread& times) -> Result<> {
                            const AlignedBuffer buffer(static_cast<size_t>(run.options.random_bytes) +
                                                       kDirectAlignment);
                            for (const uint64_t offset :
                                 random_offsets(sizes[thread], run.options.random_bytes,
                                                part_of(run.options.operations, thread, sizes.size()),
                                                run.options.seed + thread)) {
                                if (run.is_stopped()) return std::unexpected(stopped());
                                BELAY_CHECK(times.time(run.options.random_bytes, [&] {
                                    return files[thread].read_all(offset, run.options.random_bytes, buffer);
                                }));
                            }
                            return {};
                        }));
    read.cache = drop.describe();
    run.report.results.push_back(std::move(read));
    return {};
}

// Operations on names, in a directory of each thread.
struct NameOperation {
    std::string_view name;
    int (*call)(int directory, const char* name);  // as of a system call: negative and errno where it fails
};
constexpr std::array<NameOperation, 4> kNameOperations = {{
    {"create",
     [](int directory, const char* name) {
         const int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
         return fd < 0 ? fd : close(fd);
     }},
    {"stat",
     [](int directory, const char* name) {
         struct stat status{};
         return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW);
     }},
    {"open",
     [](int directory, const char* name) {
         const int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
         return fd < 0 ? fd : close(fd);
     }},
    {"remove", [](int directory, const char* name) { return unlinkat(directory, name, 0); }},
}};

Result<> test_metadata(BenchRun& run) {
    const size_t threads = run.options.threads;
    std::vector<core::Directory> directories;
    for (size_t thread = 0; thread < threads; ++thread) {
        BELAY_CHECK(run.directory.make_directory(thread_file("names", thread)));
        BELAY_TRY(directory, run.directory.enter(thread_file("names", thread)));
        directories.push_back(std::move(directory));
    }
    for (const NameOperation& operation : kNameOperations) {
        run.say(operation.name);
        BELAY_TRY(result,
                  measure_threads(
                      run, fmt::format("metadata {}", operation.name), std::string(kOperationsUnit),
                      [&](size_t thread, BenchThread& times) -> Result<> {
                          const uint64_t count = part_of(run.options.files, thread, threads);
                          for (const uint64_t number : shuffled_numbers(count, run.options.seed + thread)) {
                              if (run.is_stopped()) return std::unexpected(stopped());
                              const std::string name = std::to_string(number);
                              BELAY_CHECK(times.time(0, [&]() -> Result<> {
                                  if (operation.call(directories[thread].fd(), name.c_str()) < 0)
                                      return core::errno_error(
                                          errno, fmt::format("cannot {} a file in {}", operation.name,
                                                             directories[thread].path().string()));
                                  return {};
                              }));
                          }
                          return {};
                      }));
        result.cache =
            operation.name == "create" || operation.name == "remove" ? "" : std::string(kNamesCached);
        run.report.results.push_back(std::move(result));
    }
    return {};
}

std::string small_file(uint64_t number) {
    return fmt::format("small/{}", number);
}

Result<> test_files(BenchRun& run) {
    BELAY_CHECK(run.directory.make_directory("small"));
    const size_t threads = run.options.threads;
    run.say("writing many files");
    BELAY_TRY(written, measure_threads(
                           run, "files write", std::string(kOperationsUnit),
                           [&](size_t thread, BenchThread& times) -> Result<> {
                               const AlignedBuffer buffer(static_cast<size_t>(run.options.file_bytes));
                               for (uint64_t number = thread; number < run.options.files; number += threads) {
                                   if (run.is_stopped()) return std::unexpected(stopped());
                                   buffer.vary(number);
                                   BELAY_CHECK(times.time(run.options.file_bytes, [&]() -> Result<> {
                                       BELAY_TRY(file, BenchFile::open(run.directory, small_file(number),
                                                                       O_WRONLY | O_CREAT | O_TRUNC,
                                                                       DirectMode::kNever));
                                       return file.write(0, buffer, run.options.file_bytes);
                                   }));
                               }
                               return {};
                           }));
    written.cache = "written through the page cache, not synced";
    run.report.results.push_back(std::move(written));
    CacheDrop drop;
    for (uint64_t number = 0; number < run.options.files; ++number) {
        BELAY_CHECK(drop.open(run, small_file(number)));
    }
    const std::vector<uint64_t> order = shuffled_numbers(run.options.files, run.options.seed);
    run.say("reading many files");
    BELAY_TRY(read, measure_threads(
                        run, "files read", std::string(kOperationsUnit),
                        [&](size_t thread, BenchThread& times) -> Result<> {
                            const AlignedBuffer buffer(static_cast<size_t>(run.options.file_bytes) +
                                                       kDirectAlignment);
                            for (uint64_t at = thread; at < order.size(); at += threads) {
                                if (run.is_stopped()) return std::unexpected(stopped());
                                BELAY_CHECK(times.time(run.options.file_bytes, [&]() -> Result<> {
                                    BELAY_TRY(file, BenchFile::open(run.directory, small_file(order[at]),
                                                                    O_RDONLY, run.options.direct));
                                    BELAY_CHECK(file.read_all(0, run.options.file_bytes, buffer));
                                    return {};
                                }));
                            }
                            return {};
                        }));
    read.cache = fmt::format("{}; {}", drop.describe(), kNamesCached);
    run.report.results.push_back(std::move(read));
    return {};
}

Result<> test_shard(BenchRun& run) {
    const uint64_t bytes = run.options.files * run.options.file_bytes;
    BELAY_CHECK(write_bench_file(run, "shard", bytes));
    CacheDrop drop;
    BELAY_TRY(file, drop.open(run, "shard"));
    if (!file.is_direct()) (void)posix_fadvise(file.fd(), 0, 0, POSIX_FADV_RANDOM);
    const std::vector<uint64_t> offsets =
        random_offsets(bytes, run.options.file_bytes, run.options.files, run.options.seed);
    run.say("reading records of a shard");
    BELAY_TRY(read,
              measure_threads(run, "shard read", std::string(kOperationsUnit),
                              [&](size_t thread, BenchThread& times) -> Result<> {
                                  const AlignedBuffer buffer(static_cast<size_t>(run.options.file_bytes) +
                                                             2 * kDirectAlignment);
                                  for (size_t at = thread; at < offsets.size(); at += run.options.threads) {
                                      if (run.is_stopped()) return std::unexpected(stopped());
                                      BELAY_CHECK(times.time(run.options.file_bytes, [&] {
                                          return file.read_all(offsets[at], run.options.file_bytes, buffer);
                                      }));
                                  }
                                  return {};
                              }));
    read.cache = drop.describe();
    run.report.results.push_back(std::move(read));
    return {};
}

// As a rank of a job writes one: under another name, synced, renamed, the directory synced.
Result<> test_checkpoint(BenchRun& run) {
    const size_t threads = run.options.threads;
    std::atomic<bool> is_direct = true;
    run.say("writing a checkpoint");
    BELAY_TRY(written, measure_threads(run, "checkpoint write", std::string(kBytesUnit),
                                       [&](size_t thread, BenchThread& times) -> Result<> {
                                           const std::string name = thread_file("rank", thread);
                                           BELAY_TRY(direct,
                                                     write_blocks(run, name + ".tmp",
                                                                  part_of(run.options.bytes, thread, threads),
                                                                  &times));
                                           if (!direct) is_direct = false;
                                           BELAY_CHECK(run.directory.rename(name + ".tmp", name));
                                           return run.directory.sync();
                                       }));
    written.cache = write_cache_text(is_direct);
    run.report.results.push_back(std::move(written));
    CacheDrop drop;
    std::vector<BenchFile> files;
    for (size_t thread = 0; thread < threads; ++thread) {
        BELAY_TRY(file, drop.open(run, thread_file("rank", thread)));
        files.push_back(std::move(file));
    }
    run.say("reading a checkpoint");
    BELAY_TRY(read, measure_threads(run, "checkpoint read", std::string(kBytesUnit),
                                    [&](size_t thread, BenchThread& times) {
                                        return read_blocks(run, files[thread],
                                                           part_of(run.options.bytes, thread, threads),
                                                           times);
                                    }));
    read.cache = drop.describe();
    run.report.results.push_back(std::move(read));
    return {};
}

constexpr std::array<BenchTest, 7> kTests = {{
    {"sequential", test_sequential},
    {"random", test_random},
    {"metadata", test_metadata},
    {"files", test_files},
    {"shard", test_shard},
    {"checkpoint", test_checkpoint},
    {"training", emulate_training},
}};

}  // namespace

std::span<const BenchTest> bench_workloads() {
    return kTests;
}

Result<> write_bench_file(BenchRun& run, const std::string& name, uint64_t bytes) {
    if (const auto found = run.written.find(name); found != run.written.end() && found->second == bytes)
        return {};
    run.say(fmt::format("writing {}", name));
    BELAY_CHECK(write_blocks(run, name, bytes, nullptr));
    run.written[name] = bytes;
    return {};
}

}  // namespace belay::stage
