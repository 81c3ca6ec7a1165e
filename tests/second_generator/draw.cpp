#include "draw.h"

#include <algorithm>

namespace belay::second_generator {

namespace {

void draw_shape(Job& job, const Needs& needs, Random& random) {
    Shape& shape = job.shape;
    shape.nodes = random.pick({1, 1, 1, 1, 2, 2, 2, 3, 4, 4, 6, 8, 16});
    if (needs.nodes) shape.nodes = random.pick({2, 2, 2, 3, 4, 4, 6, 8, 16});
    shape.gpus = random.chance(0.3) ? 0 : random.pick({1, 2, 4, 4, 4});
    if (needs.gpus && shape.gpus == 0) shape.gpus = random.pick({1, 2, 4, 4, 4});
    if (needs.least_gpus > shape.gpus) shape.gpus = 4;
    if (needs.no_gpus) shape.gpus = 0;
    shape.tasks = shape.gpus > 0 ? shape.gpus : random.pick({1, 2, 4, 4, 8});
    if (needs.ranks && shape.nodes * shape.tasks < 2) {
        shape.tasks = random.pick({2, 4});
        if (shape.gpus > 0) shape.gpus = shape.tasks;
    }
    shape.seconds = random.by_decade(std::max(125.0, needs.seconds), 1800);
    // Large ones are short, or the whole would take too long to write.
    if (shape.nodes >= 6) shape.seconds = std::min(shape.seconds, std::max(needs.seconds, 600.0));
    shape.seconds = std::floor(shape.seconds);
    shape.interval = random.chance(0.93) ? 1 : random.pick({2.0, 5.0});
    shape.has_pressure = random.chance(0.8);
    shape.reads_kernel_log = needs.kernel_log || random.chance(0.35);
    shape.in_slurm = needs.slurm || shape.nodes > 1 || shape.tasks > 1 || !random.chance(0.3);
}

void draw_machine(Job& job, Random& random) {
    Shape& shape = job.shape;
    if (job.has_gpus()) {
        job.model = &kGpuModels[static_cast<size_t>(random.pick({0, 0, 0, 1, 1, 2, 3}))];
        shape.node_cpus = job.model->node_cpus;
        shape.memory = job.model->node_memory;
        const double share = shape.gpus / 4.0;  // of a node with four of them
        shape.cpus = std::max(4, static_cast<int>(shape.node_cpus * share / 4) * 4);
    } else {
        shape.node_cpus = random.pick({32, 64, 128, 128, 256});
        shape.memory = random.pick({128.0, 256.0, 512.0}) * kGib;
        shape.cpus = random.chance(0.7) ? shape.node_cpus : shape.node_cpus / 4;
    }
    if (job.model != nullptr && job.model->has_c2c)
        shape.has_pressure = shape.has_pressure && random.chance(0.5);
    for (int node = 0; node < shape.nodes; ++node)
        job.around.clock_offsets.push_back(random.uniform(-0.004, 0.004));
    job.around.sample_noise = random.by_decade(0.003, 0.03);
}

GpuUse draw_use(Random& random) {
    struct Style {
        double sm, occupancy, tensor, fp32, dram;
    };
    const Style style = random.pick<Style>({
        {0.90, 0.24, 0.52, 0.08, 0.34},  // a language model
        {0.93, 0.30, 0.44, 0.10, 0.42},
        {0.84, 0.38, 0.30, 0.15, 0.55},  // convolutions
        {0.88, 0.45, 0.22, 0.22, 0.66},
        {0.95, 0.18, 0.62, 0.05, 0.30},
    });
    GpuUse use{.engine = random.uniform(0.95, 0.995), .sm = style.sm, .occupancy = style.occupancy};
    const double scale = random.uniform(0.9, 1.08);
    use.tensor = style.tensor * scale;
    use.fp32 = style.fp32 * scale;
    use.fp16 = random.uniform(0.005, 0.05);
    use.integer = random.uniform(0.03, 0.08);
    use.dram = std::min(0.85, style.dram * scale);
    use.waiting_sm = random.pick({0.15, 0.2, 0.3, 0.9});
    return use;
}

void draw_computing(Job& job, Random& random) {
    Work& work = job.work;
    work.start_seconds = random.by_decade(6, 0.12 * job.shape.seconds + 10);
    work.compile_seconds = random.chance(0.4) ? random.uniform(2, 15) : 0;
    const double step = random.by_decade(0.12, 4);
    work.compute = step * random.uniform(0.85, 0.95);
    work.copy = job.has_gpus() ? step * random.uniform(0.004, 0.02) : 0;
    work.exchange = step * random.uniform(0.03, 0.10);
    work.local_exchange = step * random.uniform(0.01, 0.04);
    work.exchanged_bytes = random.by_decade(2e7, 4e9) * step;
    work.over_sockets = random.chance(job.has_gpus() ? 0.3 : 0.6);
    if (work.over_sockets) work.exchanged_bytes = std::min(work.exchanged_bytes, work.exchange * 6e9);
    work.jitter = random.by_decade(0.003, 0.03);
    work.gpu = draw_use(random);
    const int cpus_each = std::max(1, job.shape.cpus / job.shape.tasks);
    work.threads = job.has_gpus() ? 1 : cpus_each;
    work.compute_cpus = job.has_gpus() ? random.uniform(0.7, 1) : work.threads * random.uniform(0.9, 0.98);
    work.spins = random.chance(job.has_gpus() ? 0.85 : 0.5);
    work.host_bytes = random.by_decade(2, 0.3 * job.shape.memory / kGib / job.shape.tasks) * kGib;
    if (job.model != nullptr) work.gpu_bytes = job.model->memory * random.uniform(0.35, 0.92);
    work.command = job.has_gpus() ? random.pick({"python", "python3", "pt_main_thread", "python"})
                                  : random.pick({"python3", "train", "python", "lmp_train"});
    work.worker_command = work.command == "pt_main_thread" ? "pt_data_worker" : work.command;
}

void draw_loading(Job& job, const Needs& needs, Random& random) {
    Work& work = job.work;
    const double step = job.step_seconds();
    const int cpus_each = std::max(1, job.shape.cpus / job.shape.tasks);
    work.workers = std::min(random.pick({2, 4, 4, 8}), std::max(1, cpus_each - 1));
    if (!job.has_gpus()) work.workers = needs.loader ? 2 : random.pick({0, 0, 1, 2});
    work.prefetch = std::max(2, work.workers * random.pick({2, 2, 4}));
    work.storage = random.pick({Storage::kLustre, Storage::kLustre, Storage::kNfs, Storage::kLocal});
    work.batch_bytes = random.by_decade(2e5, 2e8) * step;
    work.batch_files = random.chance(0.5) ? 0.01 : random.by_decade(1, 64);
    work.cached_share = random.chance(0.45) ? random.uniform(0.6, 1) : 0;
    const double share =
        work.workers == 0 ? 0.03 : random.by_decade(0.04, 0.5);  // of a step that it may take
    work.reading = step * share * random.uniform(0.2, 0.8);
    const double rest = step * share - work.reading;
    work.request = rest * std::max(1, work.workers) * 0.3 / work.batch_files;
    work.decoding = rest * 0.7 * std::max(1, work.workers);
    if (!job.has_gpus() && work.workers > 0) {
        // Its workers need CPUs, too.
        work.decoding = std::min(work.decoding, 0.3 * step * work.workers);
        work.threads = std::max(1, work.threads - work.workers);
        work.compute_cpus = std::min(work.compute_cpus, work.threads * 0.97);
    }
    // Their decoding must fit the CPUs.
    const double most = 0.5 * cpus_each * step;
    work.decoding = std::min(work.decoding, most);
}

void draw_saving(Job& job, Random& random) {
    Work& work = job.work;
    const double whole = job.shape.seconds;
    if (random.chance(0.55)) {
        work.checkpoint_every = random.uniform(0.15, 0.45) * whole;
        work.checkpoint_seconds = random.by_decade(0.003, 0.03) * work.checkpoint_every;
        work.all_write = random.chance(0.4);
        work.checkpoint_bytes = work.checkpoint_seconds * random.by_decade(2e8, 2e9);
    }
    if (random.chance(0.35)) {
        work.evaluate_every = random.uniform(0.15, 0.4) * whole;
        work.evaluate_seconds = random.uniform(0.02, 0.08) * work.evaluate_every;
    }
}

void draw_report(Job& job, const Needs& needs, Random& random) {
    Report& report = job.report;
    report.exists = needs.report || random.chance(0.64);
    report.format = random.pick({Format::kMegatron, Format::kTorchtitan, Format::kHuggingFace,
                                 Format::kNanogpt, Format::kImagenet, Format::kMllog, Format::kSteps});
    const double step = job.step_seconds();
    report.every = std::max(1, static_cast<int>(random.by_decade(1, 12) / step));
    report.steps_each_epoch =
        std::max(20, static_cast<int>(job.shape.seconds / step / random.pick({1.5, 3.0, 5.0, 9.0})));
    report.all_ranks = report.format == Format::kTorchtitan && random.chance(0.3);
    job.loss.start = random.uniform(2, 11);
    job.loss.floor = job.loss.start * random.uniform(0.1, 0.5);
    job.loss.exponent = random.uniform(0.25, 0.6);
    job.loss.noise = random.by_decade(0.004, 0.04);
}

}  // namespace

void spread_gpus(Job& job) {
    job.gpus_of.assign(static_cast<size_t>(job.shape.tasks), {});
    for (int gpu = 0; gpu < job.shape.gpus; ++gpu)
        job.gpus_of[static_cast<size_t>(gpu % job.shape.tasks)].push_back(gpu);
}

Job draw_job(int number, uint64_t seed, const Needs& needs, Random& random) {
    Job job;
    job.number = number;
    job.seed = seed;
    draw_shape(job, needs, random);
    draw_machine(job, random);
    draw_computing(job, random);
    draw_loading(job, needs, random);
    draw_saving(job, random);
    draw_report(job, needs, random);
    spread_gpus(job);
    return job;
}

}  // namespace belay::second_generator
