// What is harmless but looks like trouble.
#include "draw.h"

#include <algorithm>
#include <string>

namespace belay::second_generator {

namespace {

struct Confounder {
    const char* name;
    bool (*fits)(const Job&);
    void (*add)(Job&, Random&);
};

bool always(const Job&) {
    return true;
}
bool has_workers(const Job& job) {
    return job.ranks() > 2 && !job.has_gpus();  // a GPU for it would be one that idles
}
bool has_ranks(const Job& job) {
    return job.ranks() > 2;
}
bool has_nodes(const Job& job) {
    return job.shape.nodes > 1;
}
bool is_shared(const Job& job) {
    return job.shape.cpus <= job.shape.node_cpus * 3 / 4;
}
bool has_gpus(const Job& job) {
    return job.has_gpus();
}

void add_evaluations(Job& job, Random& random) {
    job.work.evaluate_every = random.uniform(0.12, 0.3) * job.shape.seconds;
    job.work.evaluate_seconds = random.uniform(0.1, 0.25) * job.work.evaluate_every;
}

void add_checkpoints(Job& job, Random& random) {
    job.work.checkpoint_every = random.uniform(0.08, 0.2) * job.shape.seconds;
    job.work.checkpoint_seconds = random.uniform(0.01, 0.03) * job.work.checkpoint_every;
    job.work.checkpoint_bytes = job.work.checkpoint_seconds * random.by_decade(5e8, 3e9);
    job.work.all_write = random.chance(0.5);
}

void add_compiling(Job& job, Random& random) {
    job.work.compile_seconds = random.uniform(0.05, 0.12) * job.shape.seconds;
}

void lengthen(Job& job, Random& random) {
    job.work.lengthens_to = random.uniform(1.4, 2.5);
    job.work.in_stages = true;
}

void add_short_steps(Job& job, Random& random) {
    job.work.short_step = random.uniform(0.2, 0.5);
}

void add_coordinator(Job& job, Random&) {
    job.work.has_coordinator = true;
}

void add_neighbour(Job& job, Random& random) {
    const double most = job.shape.node_cpus - job.shape.cpus;
    job.around.neighbour_cpus = most * random.uniform(0.5, 0.95);
    job.around.neighbour_when = {random.uniform(0, 0.5) * job.shape.seconds, kNever};
    job.around.neighbour_disk = random.by_decade(1e6, 4e8);
    job.around.neighbour_network = random.by_decade(1e6, 2e9);
}

void add_noise(Job& job, Random& random) {
    job.around.sample_noise = random.uniform(0.06, 0.15);
    job.work.jitter = std::max(job.work.jitter, random.uniform(0.03, 0.08));
}

void offset_clocks(Job& job, Random& random) {
    for (double& offset : job.around.clock_offsets) offset = random.uniform(-2.5, 2.5);
}

void leave_gaps(Job& job, Random& random) {
    job.around.missing_share = random.by_decade(0.01, 0.15);
}

void add_pauses(Job& job, Random& random) {
    job.work.pause_every = random.uniform(20, 60);
    job.work.pause_seconds = random.uniform(0.3, 1.2) * job.work.compute;
}

void add_history(Job& job, Random& random) {
    job.around.old_ecc = random.whole(3, 4000);
    job.around.old_remapped = random.whole(1, 3);
}

void start_slowly(Job& job, Random& random) {
    job.work.start_seconds = std::max(job.work.start_seconds, random.uniform(0.08, 0.15) * job.shape.seconds);
}

void spike_loss(Job& job, Random& random) {
    job.loss.spike_at = random.uniform(0.3, 0.8) * job.shape.seconds;
}

void cache_data(Job& job, Random&) {
    job.work.cached_share = 0;
    job.work.batch_bytes = std::max(job.work.batch_bytes, 1e8 * job.step_seconds());
}

constexpr Confounder kConfounders[] = {
    {"evaluation phases", always, add_evaluations},
    {"short checkpoints", always, add_checkpoints},
    {"compilation in the first step", always, add_compiling},
    {"sequences that get longer by stages", always, lengthen},
    {"buckets of short and long steps", always, add_short_steps},
    {"a coordinator that does little on rank 0", has_workers, add_coordinator},
    {"a neighbour that uses its own CPUs", is_shared, add_neighbour},
    {"noisy samples", always, add_noise},
    {"clocks that differ between nodes", has_nodes, offset_clocks},
    {"missing samples", always, leave_gaps},
    {"pauses of single ranks for garbage collection", has_ranks, add_pauses},
    {"memory errors of before the job", has_gpus, add_history},
    {"a long start", always, start_slowly},
    {"a spike of the loss that passes", always, spike_loss},
    {"a page cache that grows", always, cache_data},
};

}  // namespace

void add_confounders(Job& job, Random& random, int most) {
    for (int i = 0; i < most; ++i) {
        const Confounder& chosen =
            kConfounders[static_cast<size_t>(random.whole(0, static_cast<int>(std::size(kConfounders)) - 1))];
        if (!chosen.fits(job) || std::ranges::find(job.confounders, chosen.name) != job.confounders.end())
            continue;
        chosen.add(job, random);
        job.confounders.push_back(chosen.name);
    }
}

}  // namespace belay::second_generator
