#include "step/settings.h"

#include "core/settings.h"
#include "env/settings.h"
#include "findings/settings.h"
#include "gpu/settings.h"
#include "image/settings.h"
#include "observe/settings.h"
#include "record/settings.h"
#include "slurm/settings.h"
#include "stage/settings.h"
#include "vet/settings.h"

#include <vector>

namespace belay::step {

namespace {

// One line for each module that has settings.
constexpr std::span<const core::Setting> kTables[] = {
    observe::kSettings, env::kSettings,      image::kSettings,  vet::kSettings,   gpu::kSettings,
    stage::kSettings,   findings::kSettings, record::kSettings, slurm::kSettings, core::kSettings,
};

}  // namespace

std::span<const core::Setting> settings() {
    static const std::vector<core::Setting> joined = [] {
        std::vector<core::Setting> all;
        for (std::span<const core::Setting> table : kTables)
            all.insert(all.end(), table.begin(), table.end());
        return all;
    }();
    return joined;
}

}  // namespace belay::step
