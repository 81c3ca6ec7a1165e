#include "bench/models/registry.h"

#include "bench/models/cosmoflow/training/model.h"
#include "bench/models/deepcam/training/model.h"
#include "bench/models/oc20/training/model.h"

namespace belay::bench {

std::vector<KnownModel> known_models() {
    return {cosmoflow::known_model(), deepcam::known_model(), oc20::known_model()};
}

}  // namespace belay::bench
