// vetnode's check types with vetnode's keys (github.com/eth-cscs/vetnode). Belay runs those that it can
// measure itself.
#include "vet/catalogue.h"
#include "vet/checks.h"

namespace belay::vet {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kNeedsGpu = "checks that run on GPUs are not built into this version of Belay";
constexpr std::string_view kNeedsNccl = "collective checks on GPUs are not built into this version of Belay";

constexpr Parameter kRequirements{"requirements",
                                  Kind::kRequirements,
                                  "",
                                  "",
                                  false,
                                  "Python packages that vetnode would install; Belay needs none"};
constexpr Parameter kPayload{"payload", Kind::kVetnodeSize, "bytes", "4 GB", false, "bytes per collective"};
constexpr Parameter kWarmup{"warmup", Kind::kWarmup, "", "", false, "what runs before the measurement"};
constexpr Parameter kMinimum{"min_bandwidth", Kind::kVetnodeBandwidth,
                             "bytes/s",       "15 GB/s",
                             false,           "bus bandwidth that must be exceeded"};
constexpr Parameter kScheduler{"scheduler", Kind::kText, "", "", false, "slurm or openPBS; without effect"};
constexpr Parameter kMethod{"method", Kind::kText, "", "allreduce", false, "which collective"};

constexpr Parameter kEnvironment[] = {{"expected", Kind::kVariables, "", "{}", false,
                                       "variables that must be set, with their value or null for any"},
                                      kRequirements};
constexpr Parameter kGpu[] = {
    {"max_temp", Kind::kInteger, "degrees C", "", true, "temperature that no GPU may reach"},
    {"max_used_memory", Kind::kNumber, "ratio", "", true, "share of a GPU's memory that may be in use"},
    kRequirements};
constexpr Parameter kCuda[] = {{"cuda_home", Kind::kText, "", "", false,
                                "where CUDA is installed; without it the usual places are searched"},
                               kRequirements};
constexpr Parameter kNcclLib[] = {
    kPayload,
    kWarmup,
    kMinimum,
    kMethod,
    kScheduler,
    kRequirements,
    {"topology", Kind::kText, "", "full", false, "full, internode or intranode"}};
constexpr Parameter kNcclTorch[] = {kPayload,
                                    kWarmup,
                                    kMinimum,
                                    kScheduler,
                                    kRequirements,
                                    {"method", Kind::kText, "", "broadcast", false,
                                     "broadcast, roundrobin, allreduce, gather or allreduce-gather"}};
constexpr Parameter kNcclPaper[] = {
    kPayload,
    kWarmup,
    kMethod,
    kScheduler,
    kRequirements,
    {"topology", Kind::kText, "", "full", false, "full, internode or intranode"},
    {"min_bandwidth", Kind::kPaperBandwidth, "bytes/s", "15 GB/s", false,
     "bus bandwidth that must be exceeded; a bare number is GB/s"}};
constexpr Parameter kRccl[] = {kPayload, kWarmup, kMinimum, kMethod, kScheduler, kRequirements};
constexpr Parameter kInternet[] = {
    {"host", Kind::kText, "", "", true, "name or address to connect to"},
    {"port", Kind::kInteger, "", "53", false, "TCP port", Range{1, 65535}},
    {"timeout", Kind::kSeconds, "s", "3", false, "how long a connection may take"},
    kRequirements};
constexpr Parameter kOnlyRequirements[] = {kRequirements};

constexpr CheckType kTypes[] = {
    {.type = "vetnode.evaluations.env_var_eval.EnvVarEval",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "environment variables are set as expected",
     .parameters = kEnvironment,
     .measure = measure_env_var,
     .vetnode = true},
    {.type = "vetnode.evaluations.gpu_eval.GPUEval",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "every GPU is cool and its memory free",
     .parameters = kGpu,
     .measure = measure_gpu_eval,
     .timeout = 30s,
     .vetnode = true},
    {.type = "vetnode.evaluations.cuda_eval.CUDAEval",
     .scope = Scope::kNode,
     .cost = Cost::kShort,
     .summary = "CUDA's libraries load and a kernel computes correctly",
     .parameters = kCuda,
     .unsupported_because = kNeedsGpu,
     .vetnode = true},
    {.type = "vetnode.evaluations.nccl_lib_eval.NcclLibEval",
     .scope = Scope::kStep,
     .cost = Cost::kExclusive,
     .summary = "bus bandwidth of an all-reduce by NCCL",
     .parameters = kNcclLib,
     .unsupported_because = kNeedsNccl,
     .vetnode = true},
    {.type = "vetnode.evaluations.nccl_pytorch_eval.NcclPytorchEval",
     .scope = Scope::kStep,
     .cost = Cost::kExclusive,
     .summary = "bandwidth of a collective as PyTorch runs it",
     .parameters = kNcclTorch,
     .unsupported_because = kNeedsNccl,
     .vetnode = true},
    {.type = "vetnode.evaluations.nccl_eval.NCCLEval",
     .scope = Scope::kStep,
     .cost = Cost::kExclusive,
     .summary = "bus bandwidth of an all-reduce, in the form published in 2025",
     .parameters = kNcclPaper,
     .unsupported_because = kNeedsNccl,
     .vetnode = true},
    {.type = "vetnode.evaluations.rccl_lib_eval.RcclLibEval",
     .scope = Scope::kStep,
     .cost = Cost::kExclusive,
     .summary = "bus bandwidth of an all-reduce by RCCL",
     .parameters = kRccl,
     .unsupported_because = kNeedsNccl,
     .vetnode = true},
    {.type = "vetnode.evaluations.internet_access.InternetAccessEval",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "a TCP connection succeeds",
     .parameters = kInternet,
     .measure = measure_tcp,
     .timeout = 60s,
     .vetnode = true},
    {.type = "vetnode.evaluations.random.RandomEval",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "a coin toss, which says nothing of a node",
     .parameters = kOnlyRequirements,
     .unsupported_because = "a coin toss measures nothing",
     .vetnode = true},
};

}  // namespace

std::span<const CheckType> vetnode_check_types() {
    return kTypes;
}

}  // namespace belay::vet
