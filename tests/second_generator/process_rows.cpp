// The processes of the job on a node: what CPUs, memory and storage they use.
#include "node.h"
#include "random.h"

#include <algorithm>

namespace belay::second_generator {

namespace {

// What the main thread of a rank and those that compute with it want of the CPUs, by what it does.
double cpus_wanted(const Job& job, const Second& did) {
    const Work& work = job.work;
    const double waits = work.spins ? 1 : 0.03;
    double wanted = did.of(Doing::kStart) * 0.9 + did.of(Doing::kLoad) * 0.04 + did.of(Doing::kCopy) * 0.6 +
                    did.of(Doing::kExchange) * (work.over_sockets ? 1.1 : waits) +
                    did.of(Doing::kWait) * waits + did.of(Doing::kSave) * 0.7;
    wanted += (did.of(Doing::kCompute) + did.of(Doing::kEvaluate)) * work.compute_cpus;
    return wanted;
}

}  // namespace

void Node::use_cpus(double from, double to) {
    const double span = to - from;
    std::vector<Second> did(static_cast<size_t>(job_.shape.tasks));
    for (int local = 0; local < job_.shape.tasks; ++local) {
        const int rank = number_ * job_.shape.tasks + local;
        Second& second = did[static_cast<size_t>(local)];
        second = timeline_.over(rank, from, to);
        const double alive = span - second.of(Doing::kOver);
        double wanted = cpus_wanted(job_, second) + second.decoding + job_.spinner_cpus * alive;
        wanted /= span;
        load_.wanted += wanted;
        const double computes = (second.of(Doing::kCompute) + second.of(Doing::kEvaluate)) / span;
        if (job_.bound_cpus > 0) {
            const double used = std::min(wanted, static_cast<double>(job_.bound_cpus));
            load_.contention = std::max(load_.contention, 1 + (wanted / std::max(0.01, used) - 1));
            load_.wanted -= wanted - used;
        }
        load_.runnable += computes * std::max(1.0, job_.work.compute_cpus) +
                          job_.spinner_cpus * alive / span + second.decoding / span;
    }
    const double neighbour =
        number_ == 0 && job_.around.neighbour_when.has(to) ? job_.around.neighbour_cpus : 0;
    const double contended =
        std::max(load_.wanted / job_.shape.cpus, (load_.wanted + neighbour) / job_.shape.node_cpus);
    if (contended > 1) load_.contention = std::max(load_.contention, contended);
    for (Process& process : processes_)
        run(process, did[static_cast<size_t>(job_.local_of(process.rank))], to, span);
    add_processes(to, span);
}

void Node::run(Process& process, const Second& did, double t, double span) {
    const Work& work = job_.work;
    const double alive = span - did.of(Doing::kOver);
    process.cpu = process.waiting = 0;
    if (alive <= 0 || t < process.started) return;
    const bool reads = process.worker >= 0 || work.workers == 0;
    const double share = process.worker >= 0 ? 1.0 / work.workers : 1;
    double wanted = process.worker < 0 ? cpus_wanted(job_, did) + job_.spinner_cpus * alive : 0;
    double system = process.worker < 0 ? 0.3 * did.of(Doing::kStart) + 0.5 * did.of(Doing::kSave) +
                                             (work.over_sockets ? 0.6 : 0.1) * did.of(Doing::kExchange)
                                       : 0;
    if (reads) {
        wanted += did.decoding * share;
        // Each byte is copied once, each name looked up.
        const double kernel = (did.read_bytes / 4e9 + did.files * 1.5e-4) * share;
        wanted += kernel;
        system += kernel;
        process.read_characters += did.read_bytes * share * 1.02 + did.files * share * 400;
        process.read += did.read_bytes * share * (1 - work.cached_share);
        load_.read += did.read_bytes * share * (1 - work.cached_share);
        load_.files += did.files * share;
        process.waiting = std::min(1.0, (did.read_wait + did.request_wait) * share / span);
    }
    if (process.worker < 0) {
        const double imported = 3e7 * did.of(Doing::kStart);
        process.read_characters += imported + 300 * span;
        process.read += imported * 0.2;
        load_.read += imported * 0.2;
        process.written += did.written_bytes;
        process.written_characters += did.written_bytes * 1.001 + 120 * span;
        load_.written += did.written_bytes;
        load_.exchanged += did.exchanged_bytes;
        process.waiting = std::max(process.waiting,
                                   std::min(1.0, did.in_storage / span + 0.6 * did.of(Doing::kSave) / span));
        process.unseen += job_.forks * 0.0035 * alive;
        load_.forks += job_.forks * alive;
        load_.switches += job_.switches * alive;
        load_.job_user += job_.forks * 0.0015 * alive;
        load_.job_system += job_.forks * 0.002 * alive;
    }
    wanted *=
        std::max(0.0, 1 + job_.around.sample_noise * noise(1000 + static_cast<uint64_t>(process.pid)) * 0.5);
    const double got = wanted / load_.contention;
    // Its main thread alone waits so long for a CPU.
    const double main = std::min(alive, wanted);
    process.delay += main * (1 - 1 / load_.contention) + main * 0.0008 * (1 + hashed(place(7)));
    system = std::min(got, std::max(system, got * job_.system_share));
    process.user += got - system;
    process.system += system + (process.worker < 0 ? job_.forks * 0.0008 * alive : 0);
    process.cpu = got / span;
    load_.job_user += got - system;
    load_.job_system += system;
    load_.switches += 200 * span + 600 * did.of(Doing::kLoad) + did.files * share * 4;
    remember_memory(process, did, t, span);
}

void Node::remember_memory(Process& process, const Second& did, double t, double span) {
    const Work& work = job_.work;
    const double ramp = std::min(
        1.0, (t - process.started) / std::max(2.0, process.worker < 0 ? work.start_seconds * 1.2 : 4.0));
    const double most = process.worker < 0 ? work.host_bytes : work.worker_bytes;
    const bool is_idle = work.has_coordinator && process.rank == 0;
    double bytes = most * (is_idle ? 0.15 : 1) * (0.08 + 0.92 * std::pow(ramp, 0.7));
    bytes *= 1 + 0.004 * noise(2000 + static_cast<uint64_t>(process.pid));
    double grown = 0;
    if (process.worker < 0)
        for (const Growth& growth : job_.host_growth)
            if (growth.rank < 0 || growth.rank == process.rank)
                grown += std::min(growth.most, growth.bytes_per_second * std::max(0.0, t - growth.from));
    process.resident = bytes + grown;
    process.anonymous = bytes * 0.82 + grown;
    if (did.of(Doing::kStart) > 0) process.major_faults += 4 * span;
    const bool reclaims = job_.pressure_when.has(t) && number_ == 0;
    if (reclaims) process.major_faults += job_.major_faults * span / static_cast<double>(processes_.size());
}

void Node::add_processes(double t, double span) {
    const Work& work = job_.work;
    const int cpus_each =
        std::max(1, job_.bound_cpus > 0 ? job_.bound_cpus : job_.shape.cpus / job_.shape.tasks);
    const int stride = std::max(1, job_.shape.cpus / job_.shape.tasks);
    for (Process& one : processes_) {
        const Second did = timeline_.over(one.rank, t - span, t);
        if (t < one.started || t > timeline_.ends[static_cast<size_t>(one.rank)].at) continue;
        load_.resident += one.resident;
        load_.anonymous += one.anonymous;
        const double draw = hashed(place(3000), static_cast<uint64_t>(one.pid));
        const char* state = "S";
        if (did.of(Doing::kStopped) > 0.5 * span && one.worker < 0)
            state = "T";
        else if (draw < one.waiting)
            state = "D";
        else if (draw < one.waiting + one.cpu)
            state = "R";
        if (*state == 'D') load_.blocked += 1;
        if (*state == 'R' && one.worker < 0 && job_.has_gpus()) load_.runnable += 1;
        if (!take_) continue;
        process.begin(time(t), name_);
        process.set("pid", one.pid);
        process.set("parent_pid", one.parent);
        process.set("start_time", time(ticks(one.started)));
        if (job_.shape.in_slurm) {
            process.set("job_id", 700000 + job_.number);
            process.set("step_id", "0");
            process.set("task", one.rank);
        }
        process.set("command", one.worker < 0 ? work.command : work.worker_command);
        process.set("state", state);
        const int base = job_.has_gpus() ? 28 + job_.shape.gpus * 4 : 6;
        process.set("threads", one.worker >= 0 ? 2 : base + work.threads + whole(job_.spinner_cpus));
        process.set("processor",
                    job_.local_of(one.rank) * stride +
                        static_cast<int>(hashed(place(3100), static_cast<uint64_t>(one.pid)) * cpus_each));
        process.set("cpu_user_seconds_total", ticks(one.user));
        process.set("cpu_system_seconds_total", ticks(one.system));
        process.set("cpu_children_unseen_seconds_total", ticks(one.unseen));
        process.set("run_delay_seconds_total", std::floor(one.delay * 1e9) / 1e9);
        process.set("resident_bytes", whole(one.resident / 4096) * 4096);
        process.set("anonymous_bytes", whole(one.anonymous / 4096) * 4096);
        process.set("virtual_bytes",
                    whole((one.resident * 1.6 + (job_.has_gpus() ? 3.2e10 : 2e9)) / 4096) * 4096);
        process.set("page_faults_major_total", whole(one.major_faults));
        process.set("read_bytes_total", whole(one.read / 4096) * 4096);
        process.set("written_bytes_total", whole(one.written / 4096) * 4096);
        process.set("read_characters_total", whole(one.read_characters));
        process.set("written_characters_total", whole(one.written_characters));
    }
    if (number_ == 0 && job_.zombies_each_minute > 0) add_zombies(t);
}

// Children of rank 0 that have ended and that it does not wait for.
void Node::add_zombies(double t) {
    if (!take_ || t > timeline_.ends[0].at) return;
    const Process& parent = processes_[0];
    const double since = std::max(0.0, t - job_.work.start_seconds);
    const int count = static_cast<int>(job_.zombies_each_minute / 60 * since);
    for (int i = 0; i < count; ++i) {
        process.begin(time(t), name_);
        process.set("pid", parent.pid + 1000 + i * 3);
        process.set("parent_pid", parent.pid);
        process.set("start_time", time(ticks(job_.work.start_seconds + i * 60 / job_.zombies_each_minute)));
        if (job_.shape.in_slurm) {
            process.set("job_id", 700000 + job_.number);
            process.set("step_id", "0");
            process.set("task", 0);
        }
        process.set("command", "git");
        process.set("state", "Z");
        process.set("threads", 1);
        process.set("processor", i % 4);
        process.set("cpu_user_seconds_total", 0.0);
        process.set("cpu_system_seconds_total", 0.01);
        process.set("cpu_children_unseen_seconds_total", 0.0);
        process.set("run_delay_seconds_total", 0.00004);
        process.set("resident_bytes", 0);
        process.set("virtual_bytes", 0);
        process.set("page_faults_major_total", 0);
    }
}

}  // namespace belay::second_generator
