// How fast the names of a directory can be looked at (statx): by one thread, by several, and by io_uring with
// as many calls under way.
//
//   stat_ways DIR [AT_ONCE [ROUNDS]]     AT_ONCE: threads, and calls under way (8); prints names a second and
//   CPU seconds of each way
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr unsigned kMask = STATX_BASIC_STATS;
constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;

std::vector<std::string> names_of(const char* path) {
    std::vector<std::string> names;
    DIR* directory = opendir(path);
    if (directory == nullptr) throw std::runtime_error("cannot open the directory");
    while (const dirent* entry = readdir(directory)) names.emplace_back(entry->d_name);
    closedir(directory);
    return names;
}

void by_threads(int directory, const std::vector<std::string>& names, unsigned threads) {
    std::atomic<size_t> next = 0;
    auto look = [&] {
        struct statx status{};
        constexpr size_t kAtOnce = 16;
        for (size_t begin = next.fetch_add(kAtOnce); begin < names.size(); begin = next.fetch_add(kAtOnce))
            for (size_t i = begin; i < std::min(begin + kAtOnce, names.size()); ++i)
                statx(directory, names[i].c_str(), kFlags, kMask, &status);
    };
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < threads; ++i) all.emplace_back(look);
}

// The two rings of io_uring, as io_uring(7) describes them.
class Ring {
  public:
    explicit Ring(unsigned entries) {
        io_uring_params parameters{};
        fd_ = static_cast<int>(syscall(SYS_io_uring_setup, entries, &parameters));
        if (fd_ < 0) throw std::runtime_error("io_uring is not available");
        submissions_ =
            map(parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
        completions_ =
            map(parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe), IORING_OFF_CQ_RING);
        entries_ = reinterpret_cast<io_uring_sqe*>(
            map(parameters.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
        sq_ = parameters.sq_off;
        cq_ = parameters.cq_off;
    }
    ~Ring() { close(fd_); }
    void push(int directory, const char* name, struct statx* status, uint64_t number) {
        unsigned& tail = at(submissions_, sq_.tail);
        const unsigned place = tail & at(submissions_, sq_.ring_mask);
        io_uring_sqe& entry = entries_[place];
        std::memset(&entry, 0, sizeof entry);
        entry.opcode = IORING_OP_STATX;
        entry.fd = directory;
        entry.addr = reinterpret_cast<uint64_t>(name);
        entry.len = kMask;
        entry.off = reinterpret_cast<uint64_t>(status);
        entry.statx_flags = kFlags;
        entry.user_data = number;
        reinterpret_cast<unsigned*>(submissions_ + sq_.array)[place] = place;
        __atomic_store_n(&tail, tail + 1, __ATOMIC_RELEASE);
        ++queued_;
    }
    // Submits what was pushed, and calls take(number) for what is done; waits for one at least.
    template <typename Take>
    void wait(const Take& take) {
        syscall(SYS_io_uring_enter, fd_, queued_, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
        queued_ = 0;
        unsigned& head = at(completions_, cq_.head);
        while (head != __atomic_load_n(&at(completions_, cq_.tail), __ATOMIC_ACQUIRE)) {
            take(reinterpret_cast<io_uring_cqe*>(completions_ +
                                                 cq_.cqes)[head & at(completions_, cq_.ring_mask)]
                     .user_data);
            __atomic_store_n(&head, head + 1, __ATOMIC_RELEASE);
        }
    }

  private:
    char* map(size_t bytes, off_t offset) const {
        void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, offset);
        if (place == MAP_FAILED) throw std::runtime_error("cannot map the rings");
        return static_cast<char*>(place);
    }
    static unsigned& at(char* ring, unsigned offset) { return *reinterpret_cast<unsigned*>(ring + offset); }
    int fd_ = -1;
    char* submissions_ = nullptr;
    char* completions_ = nullptr;
    io_uring_sqe* entries_ = nullptr;
    io_sqring_offsets sq_{};
    io_cqring_offsets cq_{};
    unsigned queued_ = 0;
};

void by_ring(int directory, const std::vector<std::string>& names, unsigned at_once) {
    Ring ring(at_once);
    std::vector<struct statx> statuses(at_once);
    std::vector<uint64_t> free;
    for (unsigned i = 0; i < at_once; ++i) free.push_back(i);
    for (size_t next = 0, done = 0; done < names.size();) {
        while (next < names.size() && !free.empty()) {
            ring.push(directory, names[next++].c_str(), &statuses[free.back()], free.back());
            free.pop_back();
        }
        ring.wait([&](uint64_t number) {
            free.push_back(number);
            ++done;
        });
    }
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <typename Way>
void measure(const char* what, size_t names, const Way& way) {
    const double cpu = cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    way();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%-12s %10.0f names/s %8.3f CPU s\n", what, static_cast<double>(names) / seconds,
                cpu_seconds() - cpu);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return std::fprintf(stderr, "usage: stat_ways DIR [AT_ONCE [ROUNDS]]\n"), 2;
    const unsigned at_once = argc > 2 ? static_cast<unsigned>(std::stoul(argv[2])) : 8;
    const int rounds = argc > 3 ? std::stoi(argv[3]) : 3;
    const auto names = names_of(argv[1]);
    const int directory = open(argv[1], O_RDONLY | O_DIRECTORY);
    for (int round = 0; round < rounds; ++round) {
        measure("one thread", names.size(), [&] { by_threads(directory, names, 1); });
        measure("threads", names.size(), [&] { by_threads(directory, names, at_once); });
        measure("io_uring", names.size(), [&] { by_ring(directory, names, at_once); });
    }
}
