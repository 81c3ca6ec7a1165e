#include "findings/testing/job.h"

#include <algorithm>
#include <cmath>

namespace belay::findings {

namespace {

struct FaultFacts {
    std::string_view name;
    bool gpus = true;  // may have, may lack them
    bool cpus_only = true;
};
constexpr std::array<FaultFacts, static_cast<size_t>(Fault::kCount)> kFaults = {{
    {"none"},
    {"slow storage"},
    {"slow decoding", true, false},
    {"small files"},
    {"host leak"},
    {"gpu leak", true, false},
    {"hang"},
    {"slow rank"},
    {"unequal work"},
    {"heat", true, false},
    {"power limit", true, false},
    {"power brake", true, false},
    {"unused gpus", true, false},
    {"unused cores", false, true},
    {"too many threads", false, true},
    {"slow checkpoints"},
    {"device fault", true, false},
    {"memory ran out"},
    {"late start"},
    {"lost samples"},
    {"diverged"},
    {"slower from then"},
}};

class Random {
  public:
    explicit Random(uint32_t seed) : engine_(seed) {}
    double between(double low, double high) {
        return low + (high - low) * static_cast<double>(engine_()) / static_cast<double>(std::mt19937::max());
    }
    int among(int low, int high) {
        return low + static_cast<int>(engine_() % static_cast<uint32_t>(high - low + 1));
    }

  private:
    std::mt19937 engine_;
};

void draw_fault(Job& job, Random& random) {
    job.strength = random.between(0, 1);
    job.victim = random.among(0, job.ranks() - 1);
    job.moment = job.start_up + static_cast<int>(random.between(0.3, 0.6) * (job.seconds - job.start_up));
    switch (job.fault) {
        case Fault::kSlowStorage:
        case Fault::kSmallFiles:
            job.load_seconds =
                job.step_seconds * (job.has_gpus ? random.between(2.5, 6) : random.between(3, 8));
            if (job.has_gpus)
                job.step_seconds = random.between(2, 5), job.load_seconds = 3 * job.step_seconds;
            break;
        case Fault::kSlowDecoding:
            job.step_seconds = random.between(2, 5);
            job.load_seconds = job.step_seconds * random.between(2, 4);
            break;
        case Fault::kSlowCheckpoints:
            job.checkpoint_every = random.between(40, 80);
            job.checkpoint_seconds = job.checkpoint_every * random.between(0.12, 0.3);
            break;
        case Fault::kSlowRank:
            job.spins = true;
            break;
        case Fault::kUnequalWork:
            job.spins = false;
            break;
        case Fault::kLateStart:
            job.seconds = random.among(900, 1500);
            job.start_up = static_cast<int>(job.seconds * random.between(0.35, 0.48));
            break;
        case Fault::kUnusedCores:
            job.nodes = 1;
            job.ranks_per_node = 1;
            job.threads = 1;
            job.cpus_per_node = random.among(6, 16);
            job.victim = 0;
            break;
        default:
            break;
    }
}

// How much longer than usual a rank computes at a moment.
double slowness(const Job& job, int rank, double now) {
    switch (job.fault) {
        case Fault::kSlowRank:
            return rank == job.victim ? 1.3 + 0.5 * job.strength : 1;
        case Fault::kUnequalWork:
            return rank == job.victim ? 1.8 + job.strength : 1;
        case Fault::kHeat:
            return rank == job.victim && now > job.moment ? 1.15 + 0.2 * job.strength : 1;
        case Fault::kPowerBrake:
            return rank == job.victim && now > job.moment && now < job.moment + 20 ? 3 : 1;
        case Fault::kTooManyThreads:
            return 1.5;
        case Fault::kSlowerFromThen:
            return now > job.moment ? 1.5 + job.strength : 1;
        default:
            return 1;
    }
}

// Adds [from, to) to the seconds that it touches.
void add(std::vector<Second>& seconds, double Second::* part, double from, double to) {
    for (auto second = static_cast<size_t>(std::max(from, 0.0)); second < seconds.size(); ++second) {
        double share =
            std::min(to, static_cast<double>(second) + 1) - std::max(from, static_cast<double>(second));
        if (share <= 0) break;
        seconds[second].*part += share;
    }
}

}  // namespace

std::string_view fault_name(Fault fault) {
    return kFaults[static_cast<size_t>(fault)].name;
}
bool needs_gpus(Fault fault) {
    return !kFaults[static_cast<size_t>(fault)].cpus_only;
}
bool needs_cpus_only(Fault fault) {
    return !kFaults[static_cast<size_t>(fault)].gpus;
}

Job draw_job(Fault fault, bool has_gpus, uint32_t seed) {
    Random random(seed * 7919 + static_cast<uint32_t>(fault) * 104729 + 17);
    Job job{.fault = fault, .seed = seed, .has_gpus = has_gpus};
    job.nodes = random.among(1, 3);
    job.ranks_per_node = has_gpus ? 4 : random.among(2, 4);
    job.seconds = random.among(300, 1200);
    job.start_up = random.among(5, 30);
    job.step_seconds = random.between(0.2, 1.5);
    job.load_seconds = job.step_seconds * random.between(0.1, 0.8);
    job.exchange_seconds = job.step_seconds * random.between(0.02, 0.15);
    job.jitter = random.between(0.005, 0.03);
    job.spins = has_gpus || random.among(0, 1) == 0;
    job.threads = has_gpus ? 1 : random.among(1, 2);
    job.cpus_per_node = has_gpus ? 4 * random.among(4, 8) : job.ranks_per_node * job.threads;
    if (random.among(0, 1) == 0) {  // checkpoints that cost little
        job.checkpoint_every = random.between(120, 300);
        job.checkpoint_seconds = job.checkpoint_every * random.between(0.005, 0.02);
    }
    draw_fault(job, random);
    return job;
}

Timeline simulate(const Job& job) {
    Random random(job.seed * 31 + 5);
    Timeline out;
    out.ranks.assign(static_cast<size_t>(job.ranks()), std::vector<Second>(static_cast<size_t>(job.seconds)));
    double now = job.start_up;
    double next_checkpoint = now + job.checkpoint_every;
    bool stops =
        job.fault == Fault::kHang || job.fault == Fault::kDeviceFault || job.fault == Fault::kMemoryRanOut;
    while (now < job.seconds && !(stops && now > job.moment)) {
        std::vector<double> arrivals;
        for (int rank = 0; rank < job.ranks(); ++rank) {
            double compute =
                job.step_seconds * (1 + job.jitter * random.between(-1, 1)) * slowness(job, rank, now);
            double loaded = now + std::max(0.0, job.load_seconds * (1 + job.jitter * random.between(-1, 1)) -
                                                    job.step_seconds);
            add(out.ranks[static_cast<size_t>(rank)], &Second::load, now, loaded);
            add(out.ranks[static_cast<size_t>(rank)], &Second::compute, loaded, loaded + compute);
            arrivals.push_back(loaded + compute);
        }
        double all = std::ranges::max(arrivals);
        double end = all + job.exchange_seconds;
        for (size_t rank = 0; rank < arrivals.size(); ++rank) {
            add(out.ranks[rank], &Second::wait, arrivals[rank], all);
            add(out.ranks[rank], &Second::exchange, all, end);
        }
        if (job.checkpoint_every > 0 && end > next_checkpoint) {
            for (auto& rank : out.ranks) add(rank, &Second::checkpoint, end, end + job.checkpoint_seconds);
            end += job.checkpoint_seconds;
            next_checkpoint += job.checkpoint_every;
        }
        out.arrivals.push_back(std::move(arrivals));
        out.end = now = end;
    }
    return out;
}

}  // namespace belay::findings
