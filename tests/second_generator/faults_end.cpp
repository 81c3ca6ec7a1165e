// Causes by which ranks stand still or end.
#include "faults.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::second_generator {

namespace {

int some_rank(const Job& job, Random& random) {
    return random.whole(0, job.ranks() - 1);
}

std::vector<std::string> traceback(const std::string& last) {
    return {"Traceback (most recent call last):",
            "  File \"/users/someone/train.py\", line 212, in <module>",
            "    main()",
            "  File \"/users/someone/train.py\", line 187, in main",
            "    train_one_epoch(model, loader, optimizer)",
            last};
}

// A halt that ends, or that somebody or something ends.
struct Ending {
    double seconds = kNever;
    double job_seconds = 0;  // 0: as drawn
    End end = End::kCompleted;
    std::string text;
};

Ending draw_ending(const Job& job, Random& random, Band band, double at) {
    const double left = job.shape.seconds - at;
    if (band == Band::kNegligible) {
        const double seconds = random.uniform(1.5, 4) * std::min(3.0, job.step_seconds());
        return {seconds, 0, End::kCompleted, fmt::format("for {:.3g} s", seconds)};
    }
    if (band == Band::kWeak) {
        const double seconds = std::min(left * 0.3, random.uniform(10, 25) + 2 * job.step_seconds());
        return {seconds, 0, End::kCompleted, fmt::format("for {:.3g} s, then it goes on", seconds)};
    }
    switch (random.whole(0, 3)) {
        case 0: {
            const double seconds = random.uniform(0.3, 0.6) * left;
            return {seconds, 0, End::kCompleted, fmt::format("for {:.3g} s, then it goes on", seconds)};
        }
        case 1:
            return {kNever, 0, End::kTimeLimit, "until the time limit ends the job"};
        case 2:
            return {kNever, 0, End::kCancelled, "until somebody cancels the job"};
        default:
            return {kNever, 0, End::kFailed, "until the watchdog of the collectives aborts all ranks"};
    }
}

Drawn halt(const Job& job, Random& random, Band band, HaltKind kind, const std::string& what) {
    const double at = midway(job, random);
    const int rank = kind == HaltKind::kMissedCall ? -1 : some_rank(job, random);
    const Ending ending = draw_ending(job, random, band, at);
    const double lasts = std::min(ending.seconds, job.shape.seconds - at);
    const std::string who = rank < 0 ? "All ranks" : fmt::format("Rank {}", rank);
    return {
        .effect =
            [=](Job& changed) {
                changed.halts.push_back({.rank = rank, .at = at, .seconds = ending.seconds, .kind = kind});
                if (ending.end != End::kCompleted) changed.end = ending.end;
            },
        .onset = at,
        .where = rank < 0 ? "all" : rank_text(job, rank),
        .unit = "s",
        .strength = lasts,
        .band = band,
        .truth = fmt::format("{} {} {}.", who, what, ending.text),
        .follows = "no progress; the other ranks wait in a collective"};
}

Drawn deadlock(const Job& job, Random& random, Band band) {
    return halt(job, random, band, HaltKind::kMissedCall,
                "wait for each other in collectives that do not match,");
}
Drawn stuck_in_storage(const Job& job, Random& random, Band band) {
    return halt(job, random, band, HaltKind::kInStorage,
                "waits in the kernel for a read that does not return,");
}
Drawn stuck_in_lock(const Job& job, Random& random, Band band) {
    return halt(job, random, band, HaltKind::kInLock, "sleeps in a lock that nobody releases,");
}
Drawn stopped(const Job& job, Random& random, Band band) {
    Drawn drawn = halt(job, random, band == Band::kClear && random.chance(0.8) ? Band::kWeak : band,
                       HaltKind::kStopped, "is stopped by a signal");
    return drawn;
}

Drawn death(const Job& job, Random& random, Band band, int code, bool memory, std::vector<std::string> words,
            const std::string& how) {
    const double at = midway(job, random);
    const int rank = some_rank(job, random);
    // Who waits long shows that the first death was not noticed.
    const double wait =
        std::min(job.shape.seconds - at - 1,
                 by_band(band, random.uniform(1, 3), random.uniform(8, 25), random.uniform(60, 600)));
    const int others = random.pick({-15, -9, -6, 1});
    return {.effect =
                [=](Job& changed) {
                    changed.deaths.push_back({.rank = rank,
                                              .at = at,
                                              .code = code,
                                              .others_wait = wait,
                                              .others_code = others,
                                              .for_lack_of_memory = memory,
                                              .last_words = words});
                },
            .onset = at,
            .where = rank_text(job, rank),
            .unit = "s of waiting",
            .strength = wait,
            // A rank that fails is plain to see, however short the others wait.
            .band = Band::kClear,
            .truth = fmt::format("Rank {} {}; the others end {:.3g} s later.", rank, how, wait),
            .follows = "tasks end with errors; the other ranks wait before they are ended"};
}

Drawn program_error(const Job& job, Random& random, Band band) {
    return death(job, random, band, 1, false,
                 traceback("RuntimeError: shape '[8, 512]' is invalid for input of size 4095"),
                 "ends with an error of its program");
}
Drawn segmentation_fault(const Job& job, Random& random, Band band) {
    return death(job, random, band, -11, false, {"Fatal Python error: Segmentation fault"},
                 "is ended by a segmentation fault");
}

Drawn out_of_memory(const Job& job, Random& random, Band band) {
    Drawn drawn =
        death(job, random, band, -9, true, {}, "needs more memory than its cgroup may have and is killed");
    const double at = drawn.onset;
    const auto kill = drawn.effect;
    const double lasts = random.uniform(0.05, 0.9) * at;
    const double bytes = std::min(0.5 * job.shape.memory, random.uniform(1, 3) * job.work.host_bytes);
    drawn.effect = [=](Job& changed) {
        kill(changed);
        const int rank = changed.deaths.back().rank;
        changed.host_growth.push_back({.rank = rank, .from = at - lasts, .bytes_per_second = bytes / lasts});
    };
    drawn.follows = "memory of the rank grows before; the other ranks end with errors";
    return drawn;
}

Drawn node_lost(const Job& job, Random& random, Band) {
    const double at = midway(job, random);
    const int node = random.whole(1, job.shape.nodes - 1);
    const double wait = std::min(job.shape.seconds - at - 1, random.uniform(20, 200));
    return {.effect =
                [=](Job& changed) {
                    changed.lost_node = node;
                    changed.lost_at = at;
                    changed.deaths.push_back({.rank = node * changed.shape.tasks,
                                              .at = at,
                                              .code = -9,
                                              .others_wait = wait,
                                              .others_code = -9});
                },
            .onset = at,
            .where = fmt::format("node {}", node),
            .unit = "nodes",
            .strength = 1,
            .band = Band::kClear,
            .truth = fmt::format(
                "Node {} fails at {:.3g} s and is not heard of again; the job ends {:.3g} s later.", node, at,
                wait),
            .follows = "samples of the node are missing; the other ranks wait and are ended"};
}

Drawn time_limit(const Job& job, Random& random, Band band) {
    const double missing =
        by_band(band, random.uniform(1.005, 1.03), random.uniform(1.06, 1.2), random.uniform(1.4, 6));
    return {.effect =
                [=](Job& changed) {
                    changed.end = End::kTimeLimit;
                    changed.total_steps_factor = missing;
                },
            .onset = job.shape.seconds,
            .unit = "% of the steps were not done",
            .strength = 100 * (1 - 1 / missing),
            // That the limit ended it is plain in any case.
            .band = Band::kClear,
            .truth = fmt::format("The time limit ends the job after {:.0f} % of its steps.", 100 / missing),
            .follows = "tasks are ended by a signal"};
}

Drawn fails_at_start(const Job& job, Random& random, Band) {
    const double at = random.uniform(2, 0.8 * std::max(6.0, job.work.start_seconds));
    const bool module = random.chance(0.5);
    return {.effect =
                [=](Job& changed) {
                    changed.shape.seconds = std::ceil(at + 2);
                    changed.work.start_seconds = at + 100;
                    changed.end = End::kFailed;
                    changed.deaths.push_back(
                        {.rank = 0,
                         .at = at,
                         .code = 1,
                         .others_wait = 0.2,
                         .others_code = 1,
                         .last_words = traceback(module ? "ModuleNotFoundError: No module named 'apex'"
                                                        : "FileNotFoundError: [Errno 2] No such file or "
                                                          "directory: '/data/train/index.json'")});
                },
            .onset = at,
            .unit = "s",
            .strength = at,
            .band = Band::kClear,
            .truth = fmt::format("The program fails {:.2g} s after it was started.", at),
            .follows = "all tasks end with errors; no step was done"};
}

constexpr Cause kCauses[] = {
    {"deadlock",
     "Ranks wait for each other in collectives that do not match.",
     {.ranks = true, .slurm = true, .seconds = 240},
     deadlock},
    {"rank_stuck_in_storage",
     "One rank waits in the kernel for storage, all others for it.",
     {.ranks = true, .slurm = true, .seconds = 240},
     stuck_in_storage},
    {"rank_stuck_in_lock",
     "One rank sleeps and never comes to the collective.",
     {.ranks = true, .slurm = true, .seconds = 240},
     stuck_in_lock},
    {"rank_stopped",
     "A rank is stopped by SIGSTOP and goes on later.",
     {.ranks = true, .slurm = true, .seconds = 240},
     stopped},
    {"program_error",
     "One rank ends with an error of the program, before all others.",
     {.ranks = true, .slurm = true},
     program_error},
    {"crash",
     "One rank is ended by a fault of its own, such as a segmentation fault.",
     {.ranks = true, .slurm = true},
     segmentation_fault},
    {"out_of_memory",
     "The kernel kills a rank because the job's memory limit is reached.",
     {.slurm = true, .kernel_log = true},
     out_of_memory},
    {"node_lost", "A node fails while the job runs.", {.nodes = true, .slurm = true}, node_lost},
    {"time_limit", "The time limit ends the job before its last step.", {.slurm = true}, time_limit},
    {"fails_at_start", "The program fails before its first step.", {}, fails_at_start},
};

}  // namespace

std::span<const Cause> end_causes() {
    return kCauses;
}

}  // namespace belay::second_generator
