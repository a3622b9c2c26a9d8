#include "paths/panel_solver.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "memory/parallel.hpp"

namespace nbfnet {

namespace {

// An edge pushed costs about four times an edge pulled: it is written at random, and one thread does it.
constexpr int64_t push_cost = 4;
constexpr int64_t chunks_per_thread = 8;

}  // namespace

PanelSolver::PanelSolver(const PathEdges &edges, const PathLoops &loops, int32_t threads)
    : edges_(edges), loops_(loops), threads_(threads), changed_(edges.rows), reached_(edges.rows) {
    first_.reserve(edges.rows * loops.width);
    second_.reserve(edges.rows * loops.width);
    const int64_t chunks = threads == 1 ? 1 : threads * chunks_per_thread;
    const int64_t work = edges.begin[edges.rows] + edges.rows;
    splits_.push_back(0);
    for (int64_t chunk = 1, row = 0; chunk < chunks; ++chunk) {
        while (row < edges.rows && edges.begin[row] + row < work / chunks * chunk) ++row;
        splits_.push_back(row);
    }
    splits_.push_back(edges.rows);
}

bool PanelSolver::solve(const Boundary &boundary, const Stopping &stopping, const std::function<bool()> &interrupted) {
    start(boundary);
    // Threads share a panel in place only where it has one lane: a double is read whole, a cache line may not be.
    const bool in_place = loops_.idempotent && stopping.until_convergence && (threads_ == 1 || loops_.width == 1);
    for (int64_t t = 1; t <= stopping.iterations; ++t) {
        const bool changed =
            listed_ && is_sparse() ? push(stopping.tolerance) : pull(boundary, in_place, stopping.tolerance);
        if (!changed) return is_finite();  // what overflows changes no more
        if (interrupted() || (stopping.until_convergence && t % 64 == 0 && !is_finite())) return false;
    }
    return false;
}

void PanelSolver::start(const Boundary &boundary) {
    const int64_t width = loops_.width, size = edges_.rows * width;
    now_ = first_.data();
    next_ = second_.data();
    parallel(threads_, [&](int thread) {
        const int64_t first = size * thread / threads_, last = size * (thread + 1) / threads_;
        std::fill(now_ + first, now_ + last, loops_.zero);
        if (!loops_.idempotent) std::fill(next_ + first, next_ + last, loops_.zero);  // pushed values are summed apart
    });
    std::fill(changed_.begin(), changed_.end(), 0);
    frontier_.clear();
    for (int32_t i = 0; i < boundary.lanes; ++i) {
        now_[boundary.row[i] * width + boundary.lane[i]] = loops_.one;
        if (i == 0 || boundary.row[i] != boundary.row[i - 1]) frontier_.push_back(boundary.row[i]);
    }
    carry(now_);
}

// The frontier's values are copied before they are pushed: a row that changes meanwhile must not pass on the change
// one iteration early.
void PanelSolver::carry(const double *values) {
    const int64_t width = loops_.width;
    carried_.reserve(static_cast<int64_t>(frontier_.size()) * width);
    double *out = carried_.data();
    for (const int32_t row : frontier_) {
        for (int64_t lane = 0; lane < width; ++lane) *out++ = values[row * width + lane];
    }
    listed_ = true;
}

bool PanelSolver::is_sparse() const {
    int64_t work = 0;
    for (const int32_t row : frontier_) work += 1 + edges_.out_begin[row + 1] - edges_.out_begin[row];
    return work * push_cost * threads_ <= edges_.begin[edges_.rows] + edges_.rows;
}

bool PanelSolver::push(double tolerance) {
    const int64_t width = loops_.width;
    // min and max join what a row has; plus_times sums the paths of exactly t edges apart, and then adds them.
    double *sums = loops_.idempotent ? now_ : next_;
    const int64_t count = loops_.push(edges_, frontier_.data(), static_cast<int64_t>(frontier_.size()), carried_.data(),
                                      sums, changed_.data(), reached_.data());
    frontier_.assign(reached_.begin(), reached_.begin() + count);
    carry(sums);
    bool changed = loops_.idempotent && count > 0;
    for (const int32_t row : frontier_) {
        changed_[row] = 0;
        if (loops_.idempotent) continue;
        for (int64_t i = row * width; i < (row + 1) * width; ++i) {
            now_[i] += next_[i];
            changed |= !(std::abs(next_[i]) <= tolerance * std::abs(now_[i]));
            next_[i] = 0;
        }
    }
    return changed;
}

bool PanelSolver::pull(const Boundary &boundary, bool in_place, double tolerance) {
    double *next = in_place ? now_ : next_;
    const int64_t chunks = static_cast<int64_t>(splits_.size()) - 1;
    std::atomic<int64_t> changed = 0;
    parallel_each(threads_, chunks, [&](int64_t chunk) {
        changed +=
            loops_.pull(edges_, boundary, splits_[chunk], splits_[chunk + 1], now_, next, changed_.data(), tolerance);
    });
    if (!in_place) std::swap(now_, next_);
    listed_ = false;
    if (loops_.idempotent && changed * push_cost * threads_ < edges_.rows) list_changed();
    return changed > 0;
}

void PanelSolver::list_changed() {
    frontier_.clear();
    for (int64_t row = 0; row < edges_.rows; ++row) {
        if (changed_[row]) frontier_.push_back(static_cast<int32_t>(row));
        changed_[row] = 0;
    }
    carry(now_);
}

bool PanelSolver::is_finite() const {
    const int64_t size = edges_.rows * loops_.width;
    return loops_.idempotent || std::all_of(now_, now_ + size, [](double value) { return std::isfinite(value); });
}

}  // namespace nbfnet
