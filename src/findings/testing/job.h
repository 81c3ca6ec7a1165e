// Made-up training jobs, second by second, from how such jobs work: ranks load data, compute, wait for the
// slowest, exchange, write checkpoints. Knows faults of jobs and nothing of rules.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"

#include <array>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace belay::findings {

enum class Fault : uint8_t {
    kNone,
    kSlowStorage,   // each batch comes late
    kSlowDecoding,  // the CPUs that prepare batches are too few; jobs with GPUs
    kSmallFiles,    // slow storage, in tiny reads
    kHostLeak,
    kGpuLeak,
    kHang,
    kSlowRank,     // one rank computes slowly and the others spin
    kUnequalWork,  // some ranks have more to compute and the others sleep
    kHeat,         // of one GPU
    kPowerLimit,   // of all GPUs
    kPowerBrake,
    kUnusedGpus,
    kUnusedCores,
    kTooManyThreads,
    kSlowCheckpoints,
    kDeviceFault,  // XID, and the job ends
    kMemoryRanOut,
    kLateStart,
    kLostSamples,
    kDiverged,
    kSlowerFromThen,  // all ranks, from one moment on
    kCount,
};
std::string_view fault_name(Fault fault);
bool needs_gpus(Fault fault);
bool needs_cpus_only(Fault fault);

// A job drawn at random; with a fault, its strength, place and time are random, too.
struct Job {
    Fault fault = Fault::kNone;
    uint32_t seed = 0;
    int nodes = 1;
    int ranks_per_node = 2;
    bool has_gpus = false;
    int seconds = 600;
    int start_up = 15;          // seconds before the first step
    double step_seconds = 0.5;  // of computing
    double load_seconds = 0;    // for a batch, beside the computing of the one before
    double exchange_seconds = 0.05;
    double jitter = 0.03;
    bool spins = true;  // while it waits for other ranks
    double checkpoint_every = 0;
    double checkpoint_seconds = 0;
    int threads = 1;        // of a rank that compute; jobs without GPUs
    int cpus_per_node = 8;  // that the job may use
    double strength = 0;    // of the fault, 0 to 1
    int victim = 0;         // rank
    int moment = 0;         // second at which it begins

    int ranks() const { return nodes * ranks_per_node; }
};
Job draw_job(Fault fault, bool has_gpus, uint32_t seed);

// What one rank did in one second, in shares of it.
struct Second {
    double compute = 0;
    double load = 0;  // waiting for data
    double wait = 0;  // for other ranks
    double exchange = 0;
    double checkpoint = 0;
};
struct Timeline {
    std::vector<std::vector<Second>> ranks;     // by rank and second
    std::vector<std::vector<double>> arrivals;  // by step and rank, seconds since the start
    double end = 0;                             // last moment of work
};
Timeline simulate(const Job& job);

// The tables of a record of it, prepared GPU tables included. Errors: kSystem.
core::Result<record::Archive> record_of(const Job& job);

}  // namespace belay::findings
