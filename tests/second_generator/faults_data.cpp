// Causes in how batches come to the ranks and checkpoints go from them.
#include "faults.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::second_generator {

namespace {

constexpr const char* kStarved = "GPUs or ranks wait for data; low use of GPUs";

// How much longer making a batch must take, if one part of it grows by this, until the loader cannot keep up
// and a step takes `step` seconds.
double factor_for(const Job& job, double cost, double part) {
    const Work& work = job.work;
    const double workers = std::max(1, work.workers);
    const double all =
        work.reading * workers * (1 - work.cached_share) + work.batch_files * work.request + work.decoding;
    const double wanted = work.workers == 0 ? all + job.step_seconds() * (stretch(cost) - 1)
                                            : job.step_seconds() * stretch(cost) * workers;
    return 1 + std::max(0.0, wanted - all) / std::max(1e-9, part);
}

Drawn slow_storage(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    const double from = onset(job, random);
    Work uncached = job.work;
    uncached.cached_share = 0;
    Job base = job;
    base.work = uncached;
    const double factor = factor_for(base, share, uncached.reading * std::max(1, uncached.workers));
    return {.effect =
                [=](Job& changed) {
                    changed.work.cached_share = 0;
                    changed.changes.push_back(
                        {.quantity = Quantity::kReading, .when = {from, kNever}, .factor = factor});
                },
            .onset = from,
            .truth = "The storage gives fewer bytes per second than the training uses.",
            .follows = std::string(kStarved) + "; waiting for I/O"};
}

Drawn late_requests(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    const double from = onset(job, random);
    Job base = job;
    const double files = std::max(1.0, job.work.batch_files);
    base.work.batch_files = files;
    base.work.request = 0.002 * job.step_seconds();
    const double factor = factor_for(base, share, files * base.work.request);
    const double request = base.work.request;
    return {.effect =
                [=](Job& changed) {
                    changed.work.batch_files = files;
                    changed.work.request = request;
                    changed.changes.push_back(
                        {.quantity = Quantity::kRequest, .when = {from, kNever}, .factor = factor});
                },
            .onset = from,
            .truth = "Each read waits long for its first byte, though bandwidth is left.",
            .follows = std::string(kStarved) + "; waiting for I/O at a low rate of bytes"};
}

Drawn slow_decoding(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    const double from = onset(job, random);
    Job base = job;
    base.work.decoding = std::max(base.work.decoding, 0.1 * job.step_seconds());
    const double decoding = base.work.decoding;
    const double factor = factor_for(base, share, decoding);
    return {.effect =
                [=](Job& changed) {
                    changed.work.decoding = decoding;
                    changed.changes.push_back(
                        {.quantity = Quantity::kDecoding, .when = {from, kNever}, .factor = factor});
                },
            .onset = from,
            .truth = "The workers of the data loader need more CPU time for a batch than they have.",
            .follows = std::string(kStarved) + "; workers that keep their CPUs busy"};
}

Drawn periodic_starvation(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    const double from = onset(job, random);
    const int most = std::max(2, static_cast<int>(0.15 * job.shape.seconds / job.step_seconds()));
    const int every = std::max(2, static_cast<int>(random.by_decade(2, most)));
    const double seconds = (stretch(share) - 1) * job.step_seconds() * every;
    return {
        .effect = [=](Job& changed) { changed.late = {.every = every, .seconds = seconds, .from = from}; },
        .onset = from,
        .truth = fmt::format("Every {}th batch comes {:.2g} s late.", every, seconds),
        .follows = "steps of two lengths; GPUs or ranks wait for data"};
}

Drawn many_files(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    const double files = std::max(16.0, random.by_decade(60, 2000) * job.step_seconds());
    Job base = job;
    base.work.batch_files = files;
    base.work.request = 1e-5;
    base.work.reading *= 0.3;
    base.work.decoding *= 0.5;
    const double factor = factor_for(base, share, files * base.work.request);
    const double request = base.work.request * factor;
    const double bytes = files * random.by_decade(2e3, 6e4);
    return {.effect =
                [=](Job& changed) {
                    changed.work.batch_files = files;
                    changed.work.request = request;
                    changed.work.reading *= 0.3;
                    changed.work.decoding *= 0.5;
                    changed.work.batch_bytes = bytes;
                    changed.work.cached_share = 0;
                    changed.slab_each_second += files / changed.step_seconds() * changed.shape.tasks * 1200;
                    if (changed.work.storage == Storage::kLocal) changed.work.storage = Storage::kLustre;
                },
            .truth = fmt::format("A rank opens {:.0f} small files for each step.", files),
            .follows = std::string(kStarved) + "; much time in the kernel; small reads"};
}

Drawn long_checkpoints(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    const double every = random.uniform(0.06, 0.2) * job.shape.seconds;
    const double seconds = (stretch(share) - 1) * every;
    const bool all = random.chance(0.5);
    const double bytes = seconds * random.by_decade(5e7, 8e8);
    return {
        .effect =
            [=](Job& changed) {
                changed.work.checkpoint_every = every + seconds;
                changed.work.checkpoint_seconds = seconds;
                changed.work.checkpoint_bytes = bytes;
                changed.work.all_write = all;
            },
        .onset = every,
        .where = all ? "all" : "rank 0",
        .truth = fmt::format("A checkpoint holds up all ranks for {:.3g} s, every {:.3g} s.", seconds, every),
        .follows = "GPUs idle at regular times; bursts of writing; ranks wait for rank 0"};
}

Drawn dead_mount(const Job& job, Random& random, Band band) {
    const double at = midway(job, random);
    const double left = job.shape.seconds - at;
    const double seconds =
        by_band(band, random.uniform(1.5, 4), random.uniform(8, 20), random.uniform(0.2, 0.6) * left);
    return {.effect =
                [=](Job& changed) {
                    changed.mount_hangs = Window{at, at + seconds};
                    for (int rank = 0; rank < changed.ranks(); ++rank)
                        changed.halts.push_back(
                            {.rank = rank, .at = at, .seconds = seconds, .kind = HaltKind::kInStorage});
                },
            .onset = at,
            .unit = "s",
            .strength = seconds,
            .band = band,
            .truth = fmt::format("The file system of the data does not answer for {:.3g} s.", seconds),
            .follows = "all ranks stand still and wait for I/O; no progress"};
}

constexpr Cause kCauses[] = {
    {"storage_bandwidth",
     "The storage delivers bytes more slowly than the training uses them.",
     {.ranks = false, .loader = true},
     slow_storage},
    {"storage_latency",
     "Reads wait for the storage to answer, although its bandwidth is not used up.",
     {.loader = true},
     late_requests},
    {"decoding_too_slow",
     "Preparing samples on the CPUs takes longer than the training step.",
     {.loader = true},
     slow_decoding},
    {"periodic_starvation",
     "One batch in so many is late, and everybody waits for it.",
     {.loader = true},
     periodic_starvation},
    {"many_small_files",
     "The data lie in so many small files that opening them takes the time.",
     {.loader = true},
     many_files},
    {"long_checkpoints",
     "Writing checkpoints holds up the training for a large part of the time.",
     {},
     long_checkpoints},
    {"file_system_hangs", "A mounted file system stops answering for a while.", {.seconds = 240}, dead_mount},
};

}  // namespace

std::span<const Cause> data_causes() {
    return kCauses;
}

}  // namespace belay::second_generator
