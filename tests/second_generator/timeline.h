// What every rank did in every second: what the simulation of the program tells the model of the machine.
#pragma once

#include "job.h"

#include <array>
#include <vector>

namespace belay::second_generator {

enum class Doing : uint8_t {
    kStart,
    kLoad,  // waits for data
    kCompute,
    kCopy,
    kExchange,
    kWait,  // for other ranks
    kSave,
    kEvaluate,
    kStuck,    // in storage or in a lock
    kStopped,  // by a signal
    kOver,     // has ended
};
inline constexpr size_t kDoings = static_cast<size_t>(Doing::kOver) + 1;

// Seconds and amounts within one second, or within several.
struct Second {
    std::array<float, kDoings> seconds = {};
    float read_bytes = 0;
    float read_wait = 0;     // of all workers, for storage
    float request_wait = 0;  // likewise, for names and first bytes
    float decoding = 0;      // CPU seconds of all workers
    float files = 0;
    float written_bytes = 0;
    float exchanged_bytes = 0;
    float in_storage = 0;  // of the main thread

    double of(Doing doing) const { return seconds[static_cast<size_t>(doing)]; }
    void add(const Second& other);
};

struct Step {
    double end = 0;
    double seconds = 0;
};

struct TaskEnd {
    double at = 0;
    int code = 0;
};

struct Timeline {
    double end = 0;
    std::vector<Step> steps;
    std::vector<Step> evaluations;
    std::vector<Step> saves;
    std::vector<TaskEnd> ends;  // by rank
    End how = End::kCompleted;
    double first_step = 0;  // when the first began
    size_t ranks = 0;
    size_t length = 0;            // seconds
    std::vector<Second> seconds;  // rank after rank

    Second& at(int rank, size_t second) { return seconds[static_cast<size_t>(rank) * length + second]; }
    Second over(int rank, double from, double to) const;
    void add(int rank, Doing doing, double from, double to);
};

// Adds an amount evenly to the seconds from..to.
void spread(Timeline& timeline, int rank, float Second::* what, double amount, double from, double to);

// Until `job.shape.seconds`, or the end that its faults bring. With `keep_seconds` false only steps and ends.
Timeline simulate(const Job& job, bool keep_seconds = true);

}  // namespace belay::second_generator
