// While few rows are in the frontier it is pushed; when its edges are many, rows not reached yet pull, and stop at the
// first neighbour that is in the frontier: most have one among their first few.
#include "hop_search.hpp"

#include <limits>
#include <numeric>

namespace nbfnet {

namespace {

// An edge looked at in vain by a row that pulls costs less than one pushed, and most are never looked at.
constexpr int64_t pull_gain = 2;

}  // namespace

HopSearch::HopSearch(const PathEdges &edges) : edges_(edges), level_(edges.rows, -1) {}

bool HopSearch::solve(int64_t source, int64_t iterations, const std::function<bool()> &interrupted) {
    level_.assign(edges_.rows, -1);
    missing_.clear();
    level_[source] = 0;
    frontier_.assign(1, static_cast<int32_t>(source));
    int64_t left = edges_.out_begin[edges_.rows];  // edges that leave rows not reached
    for (int64_t t = 1; t <= iterations; ++t) {
        const int64_t leaving = out_edges(frontier_);
        left -= leaving;
        reached_.clear();
        if (leaving * pull_gain > left + edges_.rows) {
            pull(static_cast<int32_t>(t));
        } else {
            push(static_cast<int32_t>(t));
        }
        frontier_.swap(reached_);
        if (frontier_.empty()) return true;
        if (interrupted()) return false;
    }
    return false;
}

int64_t HopSearch::out_edges(const std::vector<int32_t> &rows) const {
    int64_t edges = 0;
    for (const int32_t row : rows) edges += edges_.out_begin[row + 1] - edges_.out_begin[row];
    return edges;
}

void HopSearch::push(int32_t level) {
    // Every edge writes, and only new rows stay listed: whether a row is new cannot be foretold, and a wrong guess of
    // the processor costs more than a write.
    reached_.resize(edges_.rows + 1);
    int32_t *reached = reached_.data(), *levels = level_.data();
    int64_t count = 0;
    for (const int32_t row : frontier_) {
        for (int64_t edge = edges_.out_begin[row]; edge < edges_.out_begin[row + 1]; ++edge) {
            const int32_t target = edges_.target[edge], before = levels[target];
            const int32_t is_new = before >> 31;  // all bits, or none
            reached[count] = target;
            count -= is_new;
            levels[target] = (before & ~is_new) | (level & is_new);
        }
    }
    reached_.resize(count);
}

void HopSearch::pull(int32_t level) {
    if (missing_.empty()) {
        missing_.resize(edges_.rows);
        std::iota(missing_.begin(), missing_.end(), 0);
        in_frontier_.assign((edges_.rows + 63) / 64, 0);
    }
    for (const int32_t row : frontier_) in_frontier_[row / 64] |= uint64_t{1} << row % 64;
    size_t kept = 0;
    for (const int32_t row : missing_) {
        if (level_[row] >= 0) continue;
        bool found = false;
        for (int64_t slot = edges_.begin[row]; !found && slot < edges_.begin[row + 1]; ++slot) {
            const int32_t source = edges_.source[slot];
            found = in_frontier_[source / 64] >> source % 64 & 1;
        }
        if (found) {
            level_[row] = level;
            reached_.push_back(row);
        } else if (edges_.begin[row] < edges_.begin[row + 1]) {  // a row without in-edges is never reached
            missing_[kept++] = row;
        }
    }
    missing_.resize(kept);
    for (const int32_t row : frontier_) in_frontier_[row / 64] = 0;
}

void HopSearch::write_scores(const int32_t *rank, int64_t nodes, double *scores) const {
    int32_t most = 0;
    for (const int32_t level : level_) most = level > most ? level : most;
    std::vector<double> of_level{std::numeric_limits<double>::infinity(), 0.0};  // from level -1 on
    for (int32_t level = 1; level <= most; ++level) of_level.push_back(of_level.back() + edges_.uniform);
    for (int64_t node = 0; node < nodes; ++node) scores[node] = of_level[level_[rank[node]] + 1];
}

}  // namespace nbfnet
