// The GPU checks that need no more than NVML.
#include "gpu/held.h"
#include "vet/checks.h"
#include "vet/gpu_bus.h"
#include "vet/gpu_facts.h"

#include <algorithm>
#include <thread>

namespace belay::vet {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenLooks = std::chrono::milliseconds(100);

// The GPUs that the job holds, or all of the node outside of one.
class Gpus {
  public:
    // Errors: of gpu::open_nvml().
    static core::Result<Gpus> open(const NodeView& node) {
        std::string library = node.nvml_library;
        if (library.empty()) library = core::environment_variable("BELAY_NVML_LIBRARY").value_or("");
        BELAY_TRY(source, library.empty() ? gpu::open_nvml() : gpu::open_nvml(library));
        Gpus gpus(std::move(source));
        gpus.held_ = gpu::held_devices(gpus.source_->devices(), core::current_environment());
        return gpus;
    }

    std::vector<GpuState> look() {
        std::vector<GpuState> states;
        for (size_t i : held_) {
            states.push_back({source_->devices()[i], source_->read(i), source_->facts(i)});
            gpu::Device& device = states.back().device;
            if (device.uuid.empty()) device.uuid = fmt::format("GPU number {}", device.index);
        }
        return states;
    }

    core::Result<std::vector<std::string>> missing(const NodeView& node) const {
        return missing_gpus(source_->devices(), held_.size(), core::current_environment(), node);
    }

  private:
    explicit Gpus(std::unique_ptr<gpu::Source> source) : source_(std::move(source)) {}
    std::unique_ptr<gpu::Source> source_;
    std::vector<size_t> held_;
};

// Without a driver, that it is not here is the result; one that is here and does not start is a failure.
template <typename Judge>
Outcome with_gpus(const NodeView& node, Judge judge) {
    auto gpus = Gpus::open(node);
    if (gpus) return judge(*gpus);
    const bool is_absent = gpus.error().cause() == core::Cause::kNotFound;
    return is_absent ? unsupported_outcome(gpus.error()) : error_outcome(gpus.error());
}

}  // namespace

Outcome measure_gpu_count(const Check& check, const NodeView& node) {
    return with_gpus(node, [&](Gpus& gpus) -> Outcome {
        auto missing = gpus.missing(node);
        if (!missing) return error_outcome(std::move(missing.error()));
        return judge_gpu_count(gpus.look(), check.get<int64_t>("expected"), *missing);
    });
}

Outcome measure_gpu_temperature(const Check& check, const NodeView& node) {
    return with_gpus(
        node, [&](Gpus& gpus) { return judge_gpu_temperature(gpus.look(), check.get<double>("max")); });
}

Outcome measure_gpu_margin(const Check& check, const NodeView& node) {
    return with_gpus(node, [&](Gpus& gpus) {
        return judge_gpu_margin(gpus.look(), check.get<double>("min").value_or(0));
    });
}

Outcome measure_gpu_memory(const Check& check, const NodeView& node) {
    return with_gpus(node, [&](Gpus& gpus) {
        return judge_gpu_memory(gpus.look(), check.get<double>("max_fraction"),
                                check.get<int64_t>("max_mib"));
    });
}

// What is ending is given time to.
Outcome measure_gpu_processes(const Check& check, const NodeView& node) {
    if (check.get<bool>("kill").value_or(false))
        return unsupported_outcome("kill: vetting ends no processes: they may be another job's");
    return with_gpus(node, [&](Gpus& gpus) {
        Outcome out = judge_gpu_processes(gpus.look());
        for (int64_t looks = 1; looks < check.get<int64_t>("retries").value_or(1); ++looks) {
            if (out.status != Status::kFail) break;
            std::this_thread::sleep_for(check.get<core::Duration>("interval").value_or(core::Duration{}));
            out = judge_gpu_processes(gpus.look());
        }
        return out;
    });
}

Outcome measure_gpu_clocks(const Check& check, const NodeView& node) {
    return with_gpus(node, [&](Gpus& gpus) {
        return judge_gpu_clocks(gpus.look(), check.get<int64_t>("sm"), check.get<int64_t>("mem"));
    });
}

Outcome measure_gpu_slowdown(const Check& check, const NodeView& node) {
    return with_gpus(node, [&](Gpus& gpus) {
        const auto window = check.get<core::Duration>("window").value_or(std::chrono::seconds(1));
        const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(window);
        std::vector<std::vector<GpuState>> looks = {gpus.look()};
        while (Clock::now() < end) {
            std::this_thread::sleep_for(std::min<Clock::duration>(kBetweenLooks, end - Clock::now()));
            looks.push_back(gpus.look());
        }
        return judge_gpu_slowdowns(looks, core::to_seconds(window), check.get<double>("rate"));
    });
}

Outcome measure_gpu_ecc(const Check& check, const NodeView& node) {
    return with_gpus(node, [&](Gpus& gpus) {
        return judge_gpu_ecc(gpus.look(), check.get<int64_t>("uncorrected"), check.get<int64_t>("corrected"));
    });
}

Outcome measure_gpu_remap(const Check& check, const NodeView& node) {
    return with_gpus(node, [&](Gpus& gpus) {
        return judge_gpu_remap(gpus.look(), check.get<int64_t>("pending"), check.get<int64_t>("failed"),
                               check.get<int64_t>("pages"));
    });
}

Outcome measure_gpu_recovery(const Check&, const NodeView& node) {
    return with_gpus(node, [](Gpus& gpus) { return judge_gpu_recovery(gpus.look()); });
}

Outcome measure_gpu_links(const Check& check, const NodeView& node) {
    return with_gpus(node, [&](Gpus& gpus) {
        return judge_gpu_links(gpus.look(), check.get<int64_t>("down").value_or(0));
    });
}

Outcome measure_gpu_pcie(const Check&, const NodeView& node) {
    return with_gpus(node, [](Gpus& gpus) { return judge_gpu_pcie(gpus.look()); });
}

// vetnode's GPUEval
Outcome measure_gpu_eval(const Check& check, const NodeView& node) {
    return with_gpus(node, [&](Gpus& gpus) {
        std::vector<GpuState> states = gpus.look();
        Outcome hot =
            judge_gpu_below(states, static_cast<double>(check.get<int64_t>("max_temp").value_or(0)));
        Outcome full = judge_gpu_memory(states, check.get<double>("max_used_memory"), std::nullopt);
        return full.status > hot.status ? full : hot;
    });
}

}  // namespace belay::vet
