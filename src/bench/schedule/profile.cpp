#include "bench/schedule/profile.h"

namespace belay::bench {

double RateSchedule::at(int batch, int epoch) const {
    if (epoch <= warmup_epochs)
        return first(batch) + (epoch - 1) * (peak(batch) - first(batch)) / warmup_epochs;
    double factor = 1;
    for (size_t i = 0; i < decay_epochs.size(); ++i)
        if (epoch > decay_epochs[i]) factor = decay_factors[i];
    return peak(batch) * factor;
}

}  // namespace belay::bench
