// belay-train MODEL [options]: one rank of a training run. `belay bench run MODEL` starts it.
#include "bench/models/registry.h"
#include "bench/train/command.h"
#include "core/command.h"

int main(int argc, char** argv) {
    belay::core::Application application(
        {.name = "belay bench run",
         .summary = "train one of the MLPerf HPC models",
         .description =
             "One rank of a data-parallel run. Rank, size and the address of rank 0 come from Slurm, or "
             "from RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; without either it trains alone. Rank 0 "
             "prints MLLOG lines on standard output.",
         .version = BELAY_VERSION});
    for (const belay::bench::KnownModel& model : belay::bench::known_models())
        belay::bench::add_model_command(application, model);
    return application.run(argc, argv);
}
