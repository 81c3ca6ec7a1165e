// The program: every rank loads, computes and exchanges, step after step, in virtual time.
#include "loader.h"
#include "random.h"
#include "timeline.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace belay::second_generator {

namespace {

class Simulation {
  public:
    Simulation(const Job& job, bool keep_seconds) : job_(job), work_(job.work) {
        timeline_.ranks = static_cast<size_t>(job.ranks());
        timeline_.length = static_cast<size_t>(std::ceil(job.shape.seconds));
        if (keep_seconds) timeline_.seconds.resize(timeline_.ranks * timeline_.length);
        timeline_.ends.resize(timeline_.ranks);
        limit_ = job.shape.seconds;
    }

    Timeline run() {
        start();
        while (now_ < limit_) step();
        return finish();
    }

  private:
    double noise(int rank, uint64_t what) const {
        return hashed_normal(job_.seed + what, static_cast<uint64_t>(rank), number_);
    }

    void start() {
        next_save_ = work_.checkpoint_every;
        next_evaluation_ = work_.evaluate_every;
        for (int rank = 0; rank < job_.ranks(); ++rank) {
            const double ready = work_.start_seconds * (1 + 0.05 * hashed(job_.seed + 1, rank));
            timeline_.add(rank, Doing::kStart, 0, ready);
            time_.push_back(ready);
            loaders_.emplace_back(job_, rank, ready * 0.8);
        }
        now_ = *std::ranges::max_element(time_);
        timeline_.first_step = now_;
        for (const Death& death : job_.deaths)
            if (death.at < time_[static_cast<size_t>(death.rank)] && !dies_) {
                dies_ = &death;
                died_ = death.at;
            }
        if (dies_) die();
    }

    double compute_seconds(int rank, double t) const {
        if (work_.has_coordinator && rank == 0) return 0.01 * work_.compute;
        double seconds = work_.compute * job_.schedule(t) * job_.factor(Quantity::kCompute, rank, t);
        const bool is_short = hashed(job_.seed + 5, number_) < work_.short_step;
        seconds *= is_short ? 0.6 : 1;
        if (number_ == 0) seconds += work_.compile_seconds;
        return seconds * std::max(0.3, 1 + work_.jitter * noise(rank, 2));
    }

    // Adds what the rank does from `begin` for `seconds`, halts and deaths in between; says when it is done.
    double do_with_halts(int rank, Doing doing, double begin, double seconds) {
        double end = begin + seconds;
        for (size_t i = 0; i < job_.halts.size(); ++i) {
            const Halt& halt = job_.halts[i];
            if (halt.rank != rank || done_halts_.contains(i * 1000 + static_cast<size_t>(rank))) continue;
            if (halt.at >= end) continue;
            const double at = std::max(halt.at, begin);
            done_halts_.insert(i * 1000 + static_cast<size_t>(rank));
            timeline_.add(rank, doing, begin, at);
            const double until = std::min(limit_, at + halt.seconds);
            const bool stopped = halt.kind == HaltKind::kStopped;
            timeline_.add(rank, stopped ? Doing::kStopped : Doing::kStuck, at, until);
            if (halt.kind == HaltKind::kInStorage)
                spread(timeline_, rank, &Second::in_storage, until - at, at, until);
            end = at + halt.seconds + (end - at);
            begin = at + halt.seconds;
        }
        for (const Death& death : job_.deaths)
            if (death.rank == rank && death.at < end && !dies_) {
                dies_ = &death;
                died_ = std::max(death.at, begin);
                end = kNever;
                timeline_.add(rank, doing, begin, died_);
            }
        if (end < kNever) timeline_.add(rank, doing, begin, std::min(end, limit_));
        return end;
    }

    void step() {
        const double began = now_;
        double all = 0;
        for (int rank = 0; rank < job_.ranks(); ++rank) {
            double& t = time_[rank];
            const bool loads = !(work_.has_coordinator && rank == 0);
            const double ready = loads ? loaders_[rank].take(t, timeline_) : t;
            timeline_.add(rank, Doing::kLoad, t, ready);
            const double copy = loads ? work_.copy * job_.factor(Quantity::kCopy, rank, ready) : 0;
            timeline_.add(rank, Doing::kCopy, ready, ready + copy);
            t = do_with_halts(rank, Doing::kCompute, ready + copy,
                              compute_seconds(rank, ready) + pause(rank, t));
            all = std::max(all, t);
        }
        if (dies_) return die();
        all += missed_call(all);
        if (all >= limit_) return run_out(all);
        exchange(all);
        timeline_.steps.push_back({now_, now_ - began});
        ++number_;
        after_step();
    }

    double pause(int rank, double t) const {
        if (work_.pause_every >= kNever || rank != static_cast<int>(number_ / 7) % job_.ranks()) return 0;
        const double step = job_.step_seconds();
        return std::fmod(t, work_.pause_every) < step * 1.5 ? work_.pause_seconds : 0;
    }

    // All ranks wait for each other in calls that do not match.
    double missed_call(double t) {
        for (size_t i = 0; i < job_.halts.size(); ++i)
            if (job_.halts[i].rank < 0 && t >= job_.halts[i].at && done_halts_.insert(i).second)
                return job_.halts[i].seconds;
        return 0;
    }

    void exchange(double all) {
        double local = job_.shape.tasks > 1 ? work_.local_exchange : 0;
        double between = job_.shape.nodes > 1 ? work_.exchange : 0;
        double slowest = 0;
        for (int node = 0; node < job_.shape.nodes; ++node) {
            const int rank = node * job_.shape.tasks;
            slowest = std::max(slowest, local * job_.factor(Quantity::kLocalExchange, rank, all) +
                                            between * job_.factor(Quantity::kExchange, rank, all));
        }
        const double end = all + slowest * (1 + 0.05 * std::abs(noise(0, 3)));
        for (int rank = 0; rank < job_.ranks(); ++rank) {
            timeline_.add(rank, Doing::kWait, time_[rank], all);
            timeline_.add(rank, Doing::kExchange, all, end);
            // Most of it goes while the next gradients are computed, where it is hidden.
            spread(timeline_, rank, &Second::exchanged_bytes, work_.exchanged_bytes,
                   all - 0.3 * work_.compute, end);
            time_[rank] = end;
        }
        now_ = end;
    }

    void after_step() {
        if (now_ >= next_save_) save();
        if (now_ >= next_evaluation_) evaluate();
    }

    void save() {
        const double begin = now_;
        double end = begin;
        for (int rank = 0; rank < job_.ranks(); ++rank) {
            if (rank > 0 && !work_.all_write) continue;
            const double seconds = work_.checkpoint_seconds * job_.factor(Quantity::kWriting, rank, begin) *
                                   (1 + 0.1 * std::abs(noise(rank, 4)));
            time_[rank] = do_with_halts(rank, Doing::kSave, begin, seconds);
            spread(timeline_, rank, &Second::written_bytes, work_.checkpoint_bytes, begin, begin + seconds);
            end = std::max(end, time_[rank]);
        }
        if (dies_) return die();
        if (end >= limit_) return run_out(end);
        for (int rank = 0; rank < job_.ranks(); ++rank) {
            timeline_.add(rank, Doing::kWait, time_[rank], end);
            time_[rank] = end;
        }
        timeline_.saves.push_back({end, end - begin});
        now_ = end;
        while (next_save_ <= now_) next_save_ += work_.checkpoint_every;
    }

    void evaluate() {
        const double end =
            std::min(limit_, now_ + work_.evaluate_seconds * (1 + 0.05 * hashed(job_.seed + 6, number_)));
        for (int rank = 0; rank < job_.ranks(); ++rank) {
            timeline_.add(rank, Doing::kEvaluate, now_, end);
            spread(timeline_, rank, &Second::read_bytes,
                   work_.batch_bytes * work_.evaluate_seconds / std::max(0.02, job_.step_seconds()), now_,
                   end);
            time_[rank] = end;
        }
        timeline_.evaluations.push_back({end, end - now_});
        now_ = end;
        while (next_evaluation_ <= now_) next_evaluation_ += work_.evaluate_every;
    }

    // The limit comes before all have met: who has arrived waits.
    void run_out(double) {
        for (int rank = 0; rank < job_.ranks(); ++rank)
            if (time_[rank] < limit_) timeline_.add(rank, Doing::kWait, time_[rank], limit_);
        now_ = limit_;
    }

    void die() {
        limit_ = std::min(limit_, died_ + dies_->others_wait);
        run_out(limit_);
    }

    void cut_after(int rank, double end) {
        if (timeline_.seconds.empty()) return;
        for (size_t s = static_cast<size_t>(end); s < timeline_.length; ++s) {
            Second& second = timeline_.at(rank, s);
            const bool is_edge = s == static_cast<size_t>(end);
            if (!is_edge) second = {};
            double used = 0;
            for (float part : second.seconds) used += part;
            second.seconds[static_cast<size_t>(Doing::kOver)] += static_cast<float>(std::max(0.0, 1 - used));
        }
    }

    Timeline finish() {
        timeline_.end = std::min(limit_, job_.shape.seconds);
        timeline_.how = job_.end;
        int code = job_.end == End::kCompleted ? 0 : job_.end == End::kCancelled ? -15 : -9;
        if (job_.end == End::kTimeLimit) code = -15;
        if (job_.end == End::kFailed) code = -6;
        for (int rank = 0; rank < job_.ranks(); ++rank)
            timeline_.ends[rank] = {timeline_.end - 0.3 * hashed(job_.seed + 8, rank), code};
        if (dies_) {
            const bool memory = dies_->for_lack_of_memory;
            timeline_.how = memory ? End::kOutOfMemory : End::kFailed;
            if (job_.lost_node >= 0) timeline_.how = End::kNodeFailed;
            for (TaskEnd& end : timeline_.ends) end.code = dies_->others_code;
            timeline_.ends[dies_->rank] = {std::min(died_, timeline_.end), dies_->code};
        }
        for (int rank = 0; rank < job_.ranks(); ++rank) cut_after(rank, timeline_.ends[rank].at);
        return std::move(timeline_);
    }

    const Job& job_;
    const Work& work_;
    Timeline timeline_;
    std::vector<double> time_;
    std::vector<Loader> loaders_;
    std::set<size_t> done_halts_;
    const Death* dies_ = nullptr;
    double died_ = 0;
    double now_ = 0;
    double limit_ = 0;
    double next_save_ = kNever, next_evaluation_ = kNever;
    uint64_t number_ = 0;
};

}  // namespace

Timeline simulate(const Job& job, bool keep_seconds) {
    return Simulation(job, keep_seconds).run();
}

}  // namespace belay::second_generator
