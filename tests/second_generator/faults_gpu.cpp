// Causes in GPUs: their faults, and how the program uses them.
#include "faults.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::second_generator {

namespace {

struct Place {
    int node, gpu, rank;
};

Place some_gpu(const Job& job, Random& random) {
    const int node = random.whole(0, job.shape.nodes - 1);
    const int gpu = random.whole(0, job.shape.gpus - 1);
    return {node, gpu, node * job.shape.tasks + gpu % job.shape.tasks};
}

Drawn gpu_fault(const Job& job, Random& random, Band) {
    const Place place = some_gpu(job, random);
    const int code = random.pick({79, 48, 74, 95, 119, 46, 64});
    const double at = midway(job, random);
    const double wait = std::min(job.shape.seconds - at - 1, random.uniform(2, 90));
    return {.effect =
                [=](Job& changed) {
                    changed.xids.push_back({at, place.node, place.gpu, code, 1});
                    if (code == 79) {
                        changed.lost_gpu = place.gpu;
                        changed.lost_gpu_node = place.node;
                        changed.lost_gpu_at = at;
                    }
                    if (code == 48 || code == 64 || code == 95) {
                        changed.uncorrected_at = at;
                        changed.ecc_node = place.node;
                        changed.ecc_gpu = place.gpu;
                        changed.remap_fails = code == 64;
                    }
                    changed.deaths.push_back(
                        {.rank = place.rank,
                         .at = at + 0.5,
                         .code = code == 79 ? -6 : 1,
                         .others_wait = wait,
                         .others_code = -6,
                         .last_words = {"RuntimeError: CUDA error: unspecified launch failure"}});
                },
            .onset = at,
            .where = gpu_text(place.node, place.gpu),
            .unit = "XIDs",
            .strength = 1,
            .band = Band::kClear,
            .truth = fmt::format("The hardware of a GPU fails with XID {}.", code),
            .follows = "a rank fails, and the job with it"};
}

Drawn application_fault(const Job& job, Random& random, Band) {
    const Place place = some_gpu(job, random);
    const int code = random.pick({13, 31, 31, 43});
    const double at = midway(job, random);
    const double wait = std::min(job.shape.seconds - at - 1, random.uniform(2, 60));
    return {
        .effect =
            [=](Job& changed) {
                changed.xids.push_back({at, place.node, place.gpu, code, 1});
                changed.xids.push_back({at + 0.7, place.node, place.gpu, 45, 3});
                changed.deaths.push_back(
                    {.rank = place.rank,
                     .at = at + 0.5,
                     .code = -6,
                     .others_wait = wait,
                     .others_code = -15,
                     .last_words = {"RuntimeError: CUDA error: an illegal memory access was encountered"}});
            },
        .onset = at,
        .where = gpu_text(place.node, place.gpu),
        .unit = "XIDs",
        .strength = 2,
        .band = Band::kClear,
        .truth =
            fmt::format("The program makes an error on its GPU (XID {}) and fails; the GPU is sound.", code),
        .follows = "a rank fails, and the job with it"};
}

Drawn memory_errors(const Job& job, Random& random, Band band) {
    const Place place = some_gpu(job, random);
    const double at = midway(job, random);
    const double rate = by_band(band, random.uniform(0.2, 1), random.uniform(5, 30), random.uniform(60, 600));
    return {
        .effect =
            [=](Job& changed) {
                changed.corrected_each_minute = rate;
                changed.ecc_node = place.node;
                if (band != Band::kClear) return;
                changed.uncorrected_at = at;
                changed.xids.push_back({at, place.node, 0, 63, 1});
                changed.xids.push_back({at, place.node, 0, 94, 1});
            },
        .onset = band == Band::kClear ? at : 0,
        .where = gpu_text(place.node, 0),
        .unit = "corrected errors a minute",
        .strength = rate,
        .band = band,
        .truth = band == Band::kClear
                     ? "Memory of a GPU has an error that cannot be corrected; a row waits to be replaced."
                     : "Memory of a GPU has errors, all of which are corrected.",
        .follows = "the GPU needs a reset when the job has ended"};
}

Drawn narrow_pcie(const Job& job, Random& random, Band band) {
    const Place place = some_gpu(job, random);
    const double share = std::min(0.5, cost(random, band));
    const double copy = job.step_seconds() * random.uniform(0.015, 0.06);
    const double factor = 1 + (stretch(share) - 1) * job.step_seconds() / copy;
    return {.effect =
                [=](Job& changed) {
                    changed.work.copy = copy;
                    changed.changes.push_back({.quantity = Quantity::kCopy,
                                               .first = place.rank,
                                               .last = place.rank,
                                               .factor = factor,
                                               .sign = Sign::kNarrowPcie});
                },
            .where = gpu_text(place.node, place.gpu),
            .truth = "The PCIe link of a GPU has fewer lanes than it should, so copies take longer.",
            .follows = "the other ranks wait for it"};
}

Drawn bad_nvlink(const Job& job, Random& random, Band band) {
    const Place place = some_gpu(job, random);
    const double share = std::min(0.5, cost(random, band));
    const double factor = 1 + (stretch(share) - 1) * job.step_seconds() / job.work.local_exchange;
    const double from = onset(job, random);
    return {.effect =
                [=](Job& changed) {
                    const int first = place.node * changed.shape.tasks;
                    changed.changes.push_back({.quantity = Quantity::kLocalExchange,
                                               .first = first,
                                               .last = first + changed.shape.tasks - 1,
                                               .when = {from, kNever},
                                               .factor = factor,
                                               .sign = Sign::kBadNvlink});
                },
            .onset = from,
            .where = fmt::format("node {}", place.node),
            .truth = fmt::format("NVLinks of node {} have errors and are {:.2g} times slower.", place.node,
                                 factor),
            .follows = "a larger part of each step is communication"};
}

Drawn unused_gpus(const Job& job, Random& random, Band) {
    const int used = job.shape.gpus == 1 ? 0 : random.whole(1, job.shape.gpus - 1);
    const bool none = used == 0 || random.chance(0.2);
    return {.effect =
                [=](Job& changed) {
                    // One task drives those that are used; with as many tasks, the rest of them work on the
                    // CPU.
                    if (none) {
                        for (auto& gpus : changed.gpus_of) gpus.clear();
                        changed.work.threads = std::max(1, changed.shape.cpus / changed.shape.tasks);
                        changed.work.compute_cpus = 0.9 * changed.work.threads;
                    } else {
                        for (size_t local = 0; local < changed.gpus_of.size(); ++local)
                            changed.gpus_of[local] = {static_cast<int>(local) % used};
                    }
                },
            .where = none ? "all GPUs" : fmt::format("GPUs {} to {} of each node", used, job.shape.gpus - 1),
            .unit = "GPUs of a node unused",
            .strength = none ? static_cast<double>(job.shape.gpus) : job.shape.gpus - used,
            .band = Band::kClear,
            .truth = none ? "The job has GPUs but computes on CPUs only."
                          : fmt::format("Of {} GPUs of a node, {} are used, by several ranks each.",
                                        job.shape.gpus, used),
            .follows = none ? "nothing else" : "several ranks on one GPU; low use of GPUs"};
}

Drawn shared_gpu(const Job& job, Random& random, Band) {
    const int free = random.whole(1, job.shape.gpus - 1);
    return {.effect =
                [=](Job& changed) {
                    changed.gpus_of[static_cast<size_t>(free % changed.shape.tasks)] = {0};
                    for (int node = 0; node < changed.shape.nodes; ++node)
                        for (int local : {0, free % changed.shape.tasks})
                            changed.changes.push_back({.first = node * changed.shape.tasks + local,
                                                       .last = node * changed.shape.tasks + local,
                                                       .factor = 1.9});
                },
            .where = fmt::format("GPUs 0 and {} of each node", free),
            .truth = fmt::format("Two ranks of each node share GPU 0, and GPU {} is left idle.", free),
            .follows = "an idle GPU; the other ranks wait"};
}

// The program goes on as before, but uses the GPU so.
Drawn poor_use(Band band, GpuUse use, double tensor_before, const char* truth, const char* follows) {
    return {.effect = [=](Job& changed) { changed.work.gpu = use; },
            .unit = "% of the tensor use of a good program",
            .strength = 100 * use.tensor / std::max(0.01, tensor_before),
            .band = band,
            .truth = truth,
            .follows = follows};
}

GpuUse between(const GpuUse& good, const GpuUse& bad, double share) {
    auto mix = [share](double a, double b) { return a + (b - a) * share; };
    return {.engine = mix(good.engine, bad.engine),
            .sm = mix(good.sm, bad.sm),
            .occupancy = mix(good.occupancy, bad.occupancy),
            .tensor = mix(good.tensor, bad.tensor),
            .fp32 = mix(good.fp32, bad.fp32),
            .fp16 = mix(good.fp16, bad.fp16),
            .integer = mix(good.integer, bad.integer),
            .dram = mix(good.dram, bad.dram),
            .waiting_sm = good.waiting_sm};
}

Drawn tiny_kernels(const Job& job, Random& random, Band band) {
    GpuUse bad = job.work.gpu;
    bad = {.engine = 0.75,
           .sm = 0.13,
           .occupancy = 0.04,
           .tensor = 0.03,
           .fp32 = 0.04,
           .fp16 = 0.01,
           .integer = 0.02,
           .dram = 0.05,
           .waiting_sm = bad.waiting_sm};
    const double share =
        by_band(band, random.uniform(0.05, 0.15), random.uniform(0.35, 0.5), random.uniform(0.8, 1));
    return poor_use(band, between(job.work.gpu, bad, share), job.work.gpu.tensor,
                    "The program starts very many small kernels, between which the GPU waits for the next.",
                    "low use of multiprocessors; one CPU for each rank is busy with starting kernels");
}

Drawn no_tensor_cores(const Job& job, Random& random, Band band) {
    GpuUse bad = job.work.gpu;
    bad.tensor = 0;
    bad.fp32 = random.uniform(0.5, 0.8);
    bad.sm = 0.96;
    bad.fp16 = 0;
    const double share =
        by_band(band, random.uniform(0.03, 0.1), random.uniform(0.3, 0.5), random.uniform(0.9, 1));
    return poor_use(
        band, between(job.work.gpu, bad, share), job.work.gpu.tensor,
        "The program multiplies its matrices in FP32 on the ordinary pipe, where tensor cores would do.",
        "FP32 pipe busy, tensor pipe idle");
}

Drawn small_batch(const Job& job, Random& random, Band band) {
    GpuUse bad = job.work.gpu;
    bad.sm *= 0.3;
    bad.occupancy *= 0.35;
    bad.tensor *= 0.2;
    bad.fp32 *= 0.3;
    bad.dram *= 0.45;
    bad.engine = 0.93;
    const double share =
        by_band(band, random.uniform(0.05, 0.12), random.uniform(0.35, 0.5), random.uniform(0.85, 1));
    Drawn drawn = poor_use(band, between(job.work.gpu, bad, share), job.work.gpu.tensor,
                           "The batch is too small to fill the GPU.",
                           "low use of multiprocessors; most memory of the GPU is free");
    const auto use = drawn.effect;
    drawn.effect = [=](Job& changed) {
        use(changed);
        changed.work.gpu_bytes = changed.model->memory * (0.9 - 0.75 * share);
    };
    return drawn;
}

Drawn gpu_leak(const Job& job, Random& random, Band band) {
    const double free = job.model->memory - job.work.gpu_bytes;
    const bool full = band == Band::kClear && random.chance(0.5);
    const double grows =
        full ? 1.02 * free : by_band(band, 0.04, random.uniform(0.2, 0.4), random.uniform(0.6, 0.95)) * free;
    const double from = job.work.start_seconds + 5;
    const double until = full ? midway(job, random) + 0.3 * job.shape.seconds : job.shape.seconds;
    const double wait = random.uniform(2, 30);
    return {
        .effect =
            [=](Job& changed) {
                changed.gpu_growth.push_back({.from = from, .bytes_per_second = grows / (until - from)});
                if (!full) return;
                changed.deaths.push_back(
                    {.rank = 0,
                     .at = until,
                     .code = 1,
                     .others_wait = wait,
                     .others_code = -15,
                     .last_words = {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.12 GiB. "
                                    "GPU 0 has a total capacity of 79.11 GiB of which 512.00 MiB is free."}});
            },
        .onset = from,
        .unit = "GiB by the end, each GPU",
        .strength = grows / kGib,
        .band = band,
        .truth =
            full ? "The program keeps more and more memory of the GPU and fails when none is left."
                 : fmt::format("The program keeps more and more memory of the GPU, {:.2g} GiB in this run.",
                               grows / kGib),
        .follows = full ? "a rank fails, and the job with it" : "less memory of the GPU is free"};
}

constexpr Cause kCauses[] = {
    {"gpu_fault", "The hardware of a GPU fails.", {.gpus = true, .slurm = true}, gpu_fault},
    {"gpu_program_error",
     "The program makes an error on a GPU that is sound.",
     {.gpus = true, .slurm = true},
     application_fault},
    {"gpu_memory_errors", "The memory of a GPU has errors; the job goes on.", {.gpus = true}, memory_errors},
    {"pcie_degraded",
     "The PCIe link of a GPU is narrower or slower than it should be.",
     {.gpus = true},
     narrow_pcie},
    {"nvlink_degraded",
     "NVLinks of a node have errors and are slow.",
     {.gpus = true, .ranks = true, .least_gpus = 2},
     bad_nvlink},
    {"unused_gpus", "GPUs were allocated that no program uses.", {.gpus = true}, unused_gpus},
    {"shared_gpu",
     "Two ranks use one GPU while another is idle.",
     {.gpus = true, .ranks = true, .least_gpus = 2},
     shared_gpu},
    {"tiny_kernels",
     "The work is cut into kernels that are too small for a GPU.",
     {.gpus = true},
     tiny_kernels},
    {"no_tensor_cores",
     "Matrices are multiplied without tensor cores, in single precision.",
     {.gpus = true},
     no_tensor_cores},
    {"small_batch", "The batch is too small to fill a GPU.", {.gpus = true}, small_batch},
    {"gpu_memory_leak",
     "The memory in use of GPUs grows as long as the program runs.",
     {.gpus = true, .seconds = 300},
     gpu_leak},
};

}  // namespace

std::span<const Cause> gpu_causes() {
    return kCauses;
}

}  // namespace belay::second_generator
