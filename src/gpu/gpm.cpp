#include "gpu/gpm.h"

#include "gpu/gpm_metrics.h"

#include <utility>

namespace belay::gpu {

using namespace nvml;

static_assert(std::size(kGpmMetricFields) <= kGpmMetrics);

std::unique_ptr<GpmCounters> GpmCounters::open(const Library& library, Handle gpu,
                                               std::optional<unsigned> instance) {
    GpmSupport support{.version = kGpmVersion};
    if (library.gpm_support == nullptr || library.gpm_sample_new == nullptr ||
        library.gpm_sample_free == nullptr || library.gpm_metrics == nullptr ||
        (instance ? library.gpm_mig_sample_take == nullptr : library.gpm_sample_take == nullptr) ||
        library.gpm_support(gpu, &support) != kSuccess || support.supported == 0)
        return nullptr;
    std::unique_ptr<GpmCounters> counters(new GpmCounters(library, gpu, instance));
    if (library.gpm_sample_new(&counters->before_) != kSuccess) counters->before_ = nullptr;
    if (library.gpm_sample_new(&counters->now_) != kSuccess) counters->now_ = nullptr;
    if (counters->before_ == nullptr || counters->now_ == nullptr) return nullptr;
    counters->request_ = std::make_unique<GpmMetricsGet>();
    counters->has_before_ = counters->take(counters->before_);
    return counters;
}

GpmCounters::~GpmCounters() {
    for (GpmSample sample : {before_, now_})
        if (sample != nullptr) library_.gpm_sample_free(sample);
}

bool GpmCounters::take(GpmSample sample) const {
    Return status = instance_ ? library_.gpm_mig_sample_take(gpu_, *instance_, sample)
                              : library_.gpm_sample_take(gpu_, sample);
    return status == kSuccess;
}

void GpmCounters::read(Reading& reading) {
    if (!take(now_)) {
        has_before_ = false;  // the next mean would reach over what was not seen
        return;
    }
    if (std::exchange(has_before_, true)) {
        *request_ = {.version = kGpmVersion,
                     .count = static_cast<unsigned>(std::size(kGpmMetricFields)),
                     .first = before_,
                     .second = now_};
        for (size_t i = 0; i < std::size(kGpmMetricFields); ++i)
            request_->metrics[i].id = kGpmMetricFields[i].id;
        if (library_.gpm_metrics(request_.get()) == kSuccess)
            for (size_t i = 0; i < std::size(kGpmMetricFields); ++i)
                if (request_->metrics[i].status == kSuccess)
                    reading[kGpmMetricFields[i].field] =
                        request_->metrics[i].value * kGpmMetricFields[i].unit;
    }
    std::swap(before_, now_);
}

}  // namespace belay::gpu
