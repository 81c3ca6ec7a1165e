// Causes in how CPUs, memory and processes of a node are used.
#include "faults.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::second_generator {

namespace {

double slower(const Job& job, double cost) {
    return 1 + (stretch(cost) - 1) * job.step_seconds() / job.work.compute;
}

void slow_all(Job& job, double factor) {
    job.changes.push_back({.factor = factor});
}

Drawn too_many_threads(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    // With barriers, each thread too many costs more than its share of the CPUs.
    const double factor = slower(job, share);
    const double times = 1 + (factor - 1) * random.uniform(0.6, 1);
    const int cpus_each = std::max(1, job.shape.cpus / job.shape.tasks);
    const int threads = std::max(cpus_each + 1, static_cast<int>(cpus_each * times + 0.5));
    return {.effect =
                [=](Job& changed) {
                    changed.work.threads = threads;
                    changed.work.compute_cpus = threads;
                    slow_all(changed, factor);
                },
            .truth = fmt::format("Each rank runs {} threads on {} CPUs.", threads, cpus_each),
            .follows = "threads wait for CPUs"};
}

Drawn few_cpus(const Job& job, Random& random, Band band) {
    const double factor = slower(job, cost(random, band));
    const int threads = std::max(2, job.work.threads);
    const int bound = std::max(1, static_cast<int>(threads / factor));
    const double real = static_cast<double>(threads) / bound;
    return {.effect =
                [=](Job& changed) {
                    changed.work.threads = threads;
                    changed.work.compute_cpus = threads;
                    changed.bound_cpus = bound;
                    slow_all(changed, real);
                },
            .truth = fmt::format("The {} threads of a rank are bound to {} CPUs, though it has {}.", threads,
                                 bound, job.shape.cpus / job.shape.tasks),
            .follows = "threads wait for CPUs while other CPUs of the job idle"};
}

Drawn serial_lock(const Job& job, Random& random, Band band) {
    const double factor = slower(job, cost(random, band));
    return {.effect =
                [=](Job& changed) {
                    slow_all(changed, factor);
                    changed.work.compute_cpus = std::max(1.0, changed.work.compute_cpus / factor);
                    changed.switches = 20000 * (factor - 1) * changed.work.threads / 8.0;
                    changed.system_share = std::min(0.4, 0.05 + 0.1 * (factor - 1));
                },
            .truth = "The threads of a rank take turns in a lock, so few of them run at a time.",
            .follows = "CPUs of the job idle; many context switches"};
}

Drawn busy_waiting(const Job& job, Random& random, Band band) {
    const double factor = slower(job, cost(random, band));
    const double cpus_each = std::max(1.0, static_cast<double>(job.shape.cpus) / job.shape.tasks);
    const double spinners = std::max(1.0, std::floor(cpus_each * factor - job.work.compute_cpus + 0.5));
    const double real = std::max(1.0, (spinners + job.work.compute_cpus) / cpus_each);
    return {
        .effect =
            [=](Job& changed) {
                changed.spinner_cpus = spinners;
                slow_all(changed, real);
            },
        .truth = fmt::format(
            "{:.0f} threads of each rank look for work in a loop and take CPUs from those that have some.",
            spinners),
        .follows = "CPUs are busy but steps are slow; threads wait for CPUs"};
}

Drawn fork_storm(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    const double factor = slower(job, share);
    const double forks =
        by_band(band, random.by_decade(2, 8), random.by_decade(20, 60), random.by_decade(120, 900));
    return {.effect =
                [=](Job& changed) {
                    changed.forks = forks;
                    slow_all(changed, factor);
                },
            .truth = fmt::format("Each rank starts {:.0f} short programs a second.", forks),
            .follows = "much time in the kernel; CPU time of children"};
}

Drawn zombies(const Job&, Random& random, Band band) {
    const double count =
        by_band(band, random.uniform(2, 8), random.uniform(15, 60), random.uniform(120, 400));
    return {.effect = [=](Job& changed) { changed.zombies_each_minute = count / changed.shape.seconds * 60; },
            .where = "node 0 rank 0",
            .unit = "ended processes at the end",
            .strength = count,
            .band = band,
            .truth = fmt::format(
                "Rank 0 starts helpers and never waits for them; {:.0f} ended processes are left.", count),
            .follows = "nothing else"};
}

Drawn descriptors(const Job& job, Random& random, Band) {
    const double at = midway(job, random);
    const double wait = std::min(job.shape.seconds - at - 1, random.uniform(2, 20));
    return {
        .effect =
            [=](Job& changed) {
                changed.slab_each_second += 256.0 * 1024;
                changed.deaths.push_back(
                    {.rank = 0,
                     .at = at,
                     .code = 1,
                     .others_wait = wait,
                     .others_code = -15,
                     .last_words = {"Traceback (most recent call last):",
                                    "  File \"/users/someone/data.py\", line 88, in __getitem__",
                                    "    with open(path, 'rb') as f:",
                                    "OSError: [Errno 24] Too many open files: '/data/train/00017342.npy'"}});
            },
        .onset = at,
        .where = "node 0 rank 0",
        .unit = "failed ranks",
        .strength = 1,
        .band = Band::kClear,
        .truth = "Rank 0 never closes its files and fails when it may open no more.",
        .follows = "tasks end with errors"};
}

Drawn host_leak(const Job& job, Random& random, Band band) {
    const double free = 0.85 * job.shape.memory / job.shape.tasks - job.work.host_bytes;
    const bool one = random.chance(0.4);
    const double bytes =
        std::max(1e8, by_band(band, 0.003, random.uniform(0.02, 0.06), random.by_decade(0.1, 0.85)) * free);
    const int rank = one ? random.whole(0, job.ranks() - 1) : -1;
    const double from = job.work.start_seconds;
    return {
        .effect =
            [=](Job& changed) {
                changed.host_growth.push_back(
                    {.rank = rank, .from = from, .bytes_per_second = bytes / (changed.shape.seconds - from)});
            },
        .onset = from,
        .where = one ? rank_text(job, rank) : "all",
        .unit = "GiB by the end, each rank",
        .strength = bytes / kGib,
        .band = band,
        .truth = fmt::format("Memory of {} grows without end, by {:.2g} GiB in this run.",
                             one ? "one rank" : "each rank", bytes / kGib),
        .follows = "less memory is left on the node"};
}

Drawn full_file_system(const Job& job, Random& random, Band band) {
    const double at = midway(job, random);
    const double wait = std::min(job.shape.seconds - at - 1, random.uniform(2, 20));
    if (band == Band::kNegligible)
        return {.effect = [=](Job& changed) { changed.mount_use = 0.93; },
                .unit = "% used",
                .strength = 93,
                .band = band,
                .truth = "The file system of the results is 93 % full, which is enough for this job.",
                .follows = "little room is left"};
    return {.effect =
                [=](Job& changed) {
                    changed.mount_full = Window{at, kNever};
                    changed.mount_use = 0.97;
                    if (band == Band::kWeak) return;  // what is written then is lost, and the program goes on
                    changed.deaths.push_back(
                        {.rank = 0,
                         .at = at + 1,
                         .code = 1,
                         .others_wait = wait,
                         .others_code = -15,
                         .last_words = {"Traceback (most recent call last):", "    torch.save(state, path)",
                                        "OSError: [Errno 28] No space left on device"}});
                },
            .onset = at,
            .where = "all",
            .unit = "B left",
            .strength = 0,
            .band = Band::kClear,
            .truth = "The file system of the results has no room left from then on.",
            .follows = band == Band::kWeak ? "checkpoints are lost"
                                           : "the rank that writes fails, and the job with it"};
}

Drawn neighbour(const Job& job, Random& random, Band band) {
    const double factor = slower(job, cost(random, band));
    const double from = midway(job, random);
    const double cpus = std::max(2.0, (job.shape.node_cpus - job.shape.cpus) * random.uniform(0.6, 1) +
                                          (factor - 1) * 0.5 * job.shape.cpus);
    return {.effect =
                [=](Job& changed) {
                    changed.shape.cpus = std::min(changed.shape.cpus, changed.shape.node_cpus);
                    changed.around.neighbour_cpus = cpus;
                    changed.around.neighbour_when = {from, kNever};
                    changed.changes.push_back(
                        {.last = changed.shape.tasks - 1, .when = {from, kNever}, .factor = factor});
                },
            .onset = from,
            .where = "node 0",
            .truth = fmt::format("Other programs on node 0 take {:.0f} CPUs and slow the ranks there.", cpus),
            .follows = "node 0 is slower than the others; its CPUs are busier than the job explains"};
}

constexpr Cause kCauses[] = {
    {"too_many_threads", "More threads compute than the job has CPUs.", {.no_gpus = true}, too_many_threads},
    {"few_cpus", "Threads are bound to fewer CPUs than the job has.", {.no_gpus = true}, few_cpus},
    {"serial_lock", "A lock lets only few of the threads compute at a time.", {.no_gpus = true}, serial_lock},
    {"busy_waiting",
     "Threads that wait in loops take CPUs from those that compute.",
     {.no_gpus = true},
     busy_waiting},
    {"fork_storm", "The program starts many short programs.", {}, fork_storm},
    {"zombies", "The program does not wait for its children, so ended ones are left.", {}, zombies},
    {"descriptor_leak",
     "The program never closes its files until it may open no more.",
     {.slurm = true},
     descriptors},
    {"host_memory_leak", "The memory of processes grows as long as they run.", {.seconds = 300}, host_leak},
    {"file_system_full",
     "The file system to which the job writes has no room left.",
     {.slurm = true},
     full_file_system},
    {"neighbour", "Other programs on a node take CPUs or memory bandwidth from the job.", {}, neighbour},
};

}  // namespace

std::span<const Cause> host_causes() {
    return kCauses;
}

}  // namespace belay::second_generator
