// The extended roofline: what of a machine bounds how fast it trains, from numbers alone.
//
//   samples/s of one rank <= min(F/f, B_m/b_m, B_n/b_n, B_io/b_io)
//
// or, as the roofline is usually drawn, FLOP/s <= min(F, AI_x B_x) with AI_x = f/b_x. After Williams, Waterman and
// Patterson, "Roofline" (CACM 2009), with roofs for network and I/O as arXiv 2110.11466 proposes.
//
//   Workload workload{.name = "cosmoflow", .flops = {247.0 * GiB}, ...};
//   BELAY_TRY(analysis, analyze(workload, machine, 29.6));
//   analysis.binds, analysis.share()
#pragma once

#include "core/error.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench::roofline {

enum class Resource : uint8_t { kCompute, kMemory, kNetwork, kIo };
inline constexpr std::array kResources = {Resource::kCompute, Resource::kMemory, Resource::kNetwork,
                                          Resource::kIo};
std::string_view to_text(Resource resource);      // "compute", "memory", "network", "io"
std::string_view rate_symbol(Resource resource);  // "F", "B_m", "B_n", "B_io"
constexpr size_t index_of(Resource resource) {
    return static_cast<size_t>(resource);
}

// How a value stands to the true one.
enum class Sense : uint8_t { kValue, kAtLeast, kAtMost };
std::string_view to_text(Sense sense);  // "value", "at_least", "at_most"
std::optional<Sense> sense_named(std::string_view name);

std::string amount_text(double value, std::string_view unit);  // "12.3 GFLOP/s"

// Nothing where it is not known; then `source` may say what would give it.
struct Number {
    std::optional<double> value = {};
    Sense sense = Sense::kValue;
    std::string source = {};
    bool operator==(const Number&) const = default;
};

// Of one sample, unless it says something else. Whoever knows a model fills it in.
struct Workload {
    std::string name = {};
    Number flops = {};            // f: floating-point operations of training on it, forward and backward
    Number memory_bytes = {};     // b_m: to and from memory; of tensors touched: at least
    Number parameter_bytes = {};  // of the whole model, as they are added up
    Number io_bytes = {};         // b_io: read from storage; 0 where samples stay in memory
    std::optional<double> ranks = {};
    std::optional<double> local_batch = {};  // samples of one rank in a step
};

// Of one rank, while the others work too: FLOP/s, and bytes/s; that of the network is the bus bandwidth of an
// all-reduce, as nccl-tests defines it: 2 (R - 1)/R bytes / seconds.
struct Machine {
    std::array<Number, kResources.size()> rates = {};
    const Number& rate(Resource resource) const { return rates[index_of(resource)]; }
    Number& rate(Resource resource) { return rates[index_of(resource)]; }
    bool operator==(const Machine&) const = default;
};

// b_n = 2 (R - 1)/R parameter bytes / local batch: what a rank sends, and receives, in a ring or any other
// all-reduce that moves least (Patarasuk and Yuan, 2009). 0 for one rank. Nothing where something is not known.
Number network_bytes(const Workload& workload);

// What a sample needs of a resource.
Number demand_of(const Workload& workload, Resource resource);

enum class CeilingState : uint8_t { kKnown, kNone /* nothing is needed of it */, kUnknown };

// Where one resource bounds a rank, in samples/s.
struct Ceiling {
    Resource resource = Resource::kCompute;
    CeilingState state = CeilingState::kUnknown;
    Number rate, demand;
    double samples_per_second = 0;  // rate/demand; infinite for kNone, NaN for kUnknown
    double low = 0, high = 0;       // between which it lies: from the senses of both; high may be infinite
    double intensity = 0;           // f/b, FLOP a byte; NaN for compute, and where it is not known
};

struct Analysis {
    Workload workload;
    Machine machine;
    std::optional<double> attained;  // samples/s of one rank
    std::array<Ceiling, kResources.size()> ceilings;
    std::optional<Resource> binds;   // the lowest known ceiling; nothing where none is known
    bool certain = false;            // whether no other could be lower
    std::vector<Resource> may_bind;  // the others that could, known or not
    std::vector<std::string> notes;

    const Ceiling& ceiling(Resource resource) const { return ceilings[index_of(resource)]; }
    std::optional<double> bound() const;                   // samples/s of one rank
    std::optional<double> share() const;                   // attained / bound; above 1 something is wrong
    std::optional<double> share(Resource resource) const;  // attained / its ceiling
    std::optional<double> attained_flops_per_second() const;
};

// Errors: kBadInput for a number that is negative or not finite, a rate of 0, fewer than 1 rank, a batch of 0.
core::Result<Analysis> analyze(Workload workload, Machine machine, std::optional<double> attained);

// A run that did more than this times a ceiling contradicts it: timings differ by some percent.
inline constexpr double kContradiction = 1.05;

}  // namespace belay::bench::roofline
