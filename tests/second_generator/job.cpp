#include "job.h"

#include <algorithm>

namespace belay::second_generator {

double Change::at(double t) const {
    if (!when.has(t)) return 1;
    const double share = ramp > 0 ? std::min(1.0, (t - when.from) / ramp) : 1;
    return 1 + (factor - 1) * share;
}

double Job::factor(Quantity quantity, int rank, double t) const {
    double product = 1;
    for (const Change& change : changes)
        if (change.quantity == quantity && rank >= change.first && rank <= change.last)
            product *= change.at(t);
    return product;
}

double Job::sign(Sign which, int rank, double t) const {
    double most = 1;
    for (const Change& change : changes)
        if (change.sign == which && rank >= change.first && rank <= change.last)
            most = std::max(most, change.at(t));
    return most;
}

double Job::schedule(double t) const {
    if (work.lengthens_to == 1) return 1;
    double share = std::clamp(t / shape.seconds, 0.0, 1.0);
    if (work.in_stages) share = static_cast<int>(share * 4) / 3.0;
    return 1 + (work.lengthens_to - 1) * std::min(1.0, share);
}

double Job::step_seconds() const {
    const double exchange = shape.nodes > 1 ? work.exchange : 0;
    const double local = shape.tasks > 1 ? work.local_exchange : 0;
    return work.compute + work.copy + exchange + local;
}

}  // namespace belay::second_generator
