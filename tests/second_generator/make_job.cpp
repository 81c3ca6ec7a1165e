#include "make_job.h"

#include <algorithm>

namespace belay::second_generator {

namespace {

Job with(Job job, const std::vector<Fault>& faults, const Fault* without = nullptr) {
    for (const Fault& fault : faults)
        if (&fault != without) fault.drawn.effect(job);
    return job;
}

bool fits(const Job& job, const Needs& needs) {
    return (!needs.gpus || job.has_gpus()) && (!needs.no_gpus || !job.has_gpus()) &&
           (!needs.ranks || job.ranks() > 1) && (!needs.nodes || job.shape.nodes > 1) &&
           (!needs.loader || job.work.workers > 0) && (!needs.report || job.report.exists) &&
           (!needs.slurm || job.shape.in_slurm) && (!needs.kernel_log || job.shape.reads_kernel_log) &&
           needs.seconds <= job.shape.seconds && needs.least_gpus <= job.shape.gpus;
}

// What ends a job or decides how all of it runs goes with nothing else of its kind.
bool ends_job(const Job& job, const Drawn& drawn) {
    Job changed = job;
    drawn.effect(changed);
    return !changed.deaths.empty() || changed.end != End::kCompleted || !changed.halts.empty();
}

// Steps in the time from `from` on, and how long each took.
double pace(const Timeline& timeline, double from) {
    double last = std::max(from, timeline.first_step), begin = last;
    double count = 0;
    for (const Step& step : timeline.steps) {
        if (step.end < from) continue;
        count += 1;
        last = step.end;
    }
    return count > 0 ? (last - begin) / count : kNever;
}

// Judged as somebody would who supports users: below 5 % nobody tells it from the differences between two
// runs; from 15 % on users complain.
Band judged(double cost) {
    return cost >= 0.15 ? Band::kClear : cost >= 0.05 ? Band::kWeak : Band::kNegligible;
}

void measure(const Job& base, std::vector<Fault>& faults) {
    for (Fault& fault : faults) {
        fault.unit = fault.drawn.unit;
        fault.strength = fault.drawn.strength;
        fault.band = fault.drawn.band;
        if (!fault.unit.empty()) continue;
        const double sick = pace(simulate(with(base, faults), false), fault.drawn.onset);
        const double sound = pace(simulate(with(base, faults, &fault), false), fault.drawn.onset);
        const double cost = std::clamp(1 - sound / sick, 0.0, 1.0);
        fault.unit = "% of the time lost";
        fault.strength = 100 * cost;
        fault.band = judged(cost);
    }
}

Band draw_band(Random& random) {
    const double draw = random.unit();
    return draw < 0.55 ? Band::kClear : draw < 0.8 ? Band::kWeak : Band::kNegligible;
}

}  // namespace

Made make_job(int number, uint64_t seed, std::string_view wanted) {
    Random random(mixed(seed * 1'000'003 + static_cast<uint64_t>(number)));
    const std::vector<const Cause*> causes = all_causes();
    // Every third job is sound; the causes take turns over the others.
    const bool sound = wanted.empty() ? number % 3 == 2 : wanted == "sound";
    const Cause* first = nullptr;
    if (!sound)
        first = causes[static_cast<size_t>(number - number / 3 + static_cast<int>(seed % 100) * 7) %
                       causes.size()];
    for (const Cause* cause : causes)
        if (!wanted.empty() && wanted == cause->name) first = cause;

    Made made;
    const uint64_t job_seed = random.bits() >> 16;
    Job base = draw_job(number, job_seed, first ? first->needs : Needs{}, random);
    const bool is_short = sound && random.chance(0.08);
    if (is_short) {
        base.shape.seconds = random.whole(18, 75);
        base.work.start_seconds = std::min(base.work.start_seconds, 6.0);
        base.work.compile_seconds = 0;
        base.confounders.push_back("a short run");
    }
    add_confounders(base, random, sound ? random.whole(0, 4) : random.whole(0, 2));
    if (first) made.faults.push_back({.cause = first, .drawn = first->draw(base, random, draw_band(random))});
    if (first && random.chance(0.2)) {
        const Cause* second = causes[static_cast<size_t>(random.bits() % causes.size())];
        if (second != first && fits(base, second->needs)) {
            Drawn drawn = second->draw(base, random, draw_band(random));
            const bool clash = ends_job(base, drawn) || std::string_view(first->name) == "fails_at_start";
            if (!clash) made.faults.push_back({.cause = second, .drawn = std::move(drawn)});
        }
    }
    if (base.report.exists && base.report.format == Format::kImagenet)
        base.confounders.push_back("steps counted anew in each epoch");
    measure(base, made.faults);
    made.job = with(base, made.faults);
    made.job.kind = first ? first->name : "sound";
    made.timeline = simulate(made.job);
    return made;
}

}  // namespace belay::second_generator
