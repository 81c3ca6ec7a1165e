#include "bench/models/registry.h"

#include "bench/models/cosmoflow/training/model.h"

namespace belay::bench {

std::vector<KnownModel> known_models() {
    return {cosmoflow::known_model()};
}

}  // namespace belay::bench
