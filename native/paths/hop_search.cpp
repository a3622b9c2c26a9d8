// Three ways to take a step, by how many rows are in the frontier: a list of few is pushed; many are walked in order of
// their rows, whose equal degrees the processor foretells, and only mark their targets; and where few rows are missing,
// those pull, and stop at the first neighbour in the frontier.
#include "paths/hop_search.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace nbfnet {

namespace {

constexpr int64_t few = 64;        // a frontier of less than one row in so many is a list
constexpr int64_t pull_cost = 12;  // marked edges that cost as much as one row that pulls: its end cannot be foretold

// The lowest bit of each of eight bytes, as eight bits.
uint64_t bits_of_bytes(uint64_t bytes) { return (bytes & 0x0101010101010101u) * 0x0102040810204080u >> 56; }

}  // namespace

HopSearch::HopSearch(const PathEdges &edges) : edges_(edges), words_((edges.rows + 63) / 64) {}

bool HopSearch::solve(int64_t source, int64_t iterations, const std::function<bool()> &interrupted) {
    level_.assign(words_ * 64, -1);
    level_[source] = 0;
    list_.assign(1, static_cast<int32_t>(source));
    is_list_ = true;
    int64_t count = 1, missing = edges_.rows - 1, t = 1;
    bool settled = false;
    for (; t <= iterations && !settled; ++t) {
        const int32_t level = static_cast<int32_t>(t);
        if (count * few < edges_.rows) {
            to_list(level - 1);
            count = push(level);
        } else {
            to_bits();
            const double marked_edges = static_cast<double>(count) * static_cast<double>(edges_.begin[edges_.rows]);
            const double pulled_rows = static_cast<double>(missing) * pull_cost * static_cast<double>(edges_.rows);
            const bool pulls = marked_edges > pulled_rows;
            pulls ? pull(level - 1) : mark(level - 1);
            count = collect();
        }
        missing -= count;
        settled = count == 0;
        if (!settled && interrupted()) return false;
    }
    if (!is_list_) write_levels(static_cast<int32_t>(t - 1));
    return settled;
}

void HopSearch::to_list(int32_t level) {
    if (is_list_) return;
    list_.clear();
    each_in_frontier([&](int32_t row) {
        list_.push_back(row);
        level_[row] = level;
    });
    is_list_ = true;
}

void HopSearch::to_bits() {
    if (!is_list_) return;
    frontier_.assign(words_, 0);
    for (const int32_t row : list_) frontier_[row / 64] |= uint64_t{1} << row % 64;
    marked_.assign(words_ * 64, 0);
    missing_.resize(words_ * 64);
    for (int64_t row = 0; row < words_ * 64; ++row) missing_[row] = level_[row] < 0;
    is_list_ = false;
}

int64_t HopSearch::push(int32_t level) {
    // Every edge writes, and only new rows stay listed: whether a row is new cannot be foretold, and a wrong guess of
    // the processor costs more than a write.
    reached_.resize(edges_.rows + 1);
    int32_t *reached = reached_.data(), *levels = level_.data();
    int64_t count = 0;
    for (const int32_t row : list_) {
        for (int64_t edge = edges_.out_begin[row]; edge < edges_.out_begin[row + 1]; ++edge) {
            const int32_t target = edges_.target[edge], before = levels[target];
            const int32_t is_new = before >> 31;  // all bits, or none
            reached[count] = target;
            count -= is_new;
            levels[target] = (before & ~is_new) | (level & is_new);
        }
    }
    list_.assign(reached, reached + count);
    return count;
}

void HopSearch::mark(int32_t level) {
    uint8_t *marked = marked_.data();
    int32_t *levels = level_.data();
    const int32_t *target = edges_.target;
    each_in_frontier([&](int32_t row) {
        levels[row] = level;
        const int64_t end = edges_.out_begin[row + 1];
        for (int64_t edge = edges_.out_begin[row]; edge < end; ++edge) marked[target[edge]] = 1;
    });
}

void HopSearch::pull(int32_t level) {
    write_levels(level);
    for (int64_t first = 0; first < edges_.rows; first += 8) {
        uint64_t missing;
        std::memcpy(&missing, &missing_[first], 8);
        for (; missing; missing &= missing - 1) {
            const int64_t row = first + std::countr_zero(missing) / 8;
            if (row < edges_.rows) marked_[row] = has_neighbour_in_frontier(row);
        }
    }
}

bool HopSearch::has_neighbour_in_frontier(int64_t row) const {
    for (int64_t slot = edges_.begin[row]; slot < edges_.begin[row + 1]; ++slot) {
        const int32_t source = edges_.source[slot];
        if (frontier_[source / 64] >> source % 64 & 1) return true;
    }
    return false;
}

int64_t HopSearch::collect() {
    int64_t count = 0;
    for (int64_t word = 0; word < words_; ++word) {
        uint64_t rows = 0;
        for (int64_t byte = 0; byte < 8; ++byte) {
            uint64_t marked, missing;
            std::memcpy(&marked, &marked_[word * 64 + byte * 8], 8);
            std::memcpy(&missing, &missing_[word * 64 + byte * 8], 8);
            marked &= missing;
            missing ^= marked;
            std::memcpy(&missing_[word * 64 + byte * 8], &missing, 8);
            rows |= bits_of_bytes(marked) << 8 * byte;
        }
        frontier_[word] = rows;
        count += std::popcount(rows);
    }
    std::fill(marked_.begin(), marked_.end(), uint8_t{0});
    return count;
}

void HopSearch::write_levels(int32_t level) {
    each_in_frontier([&](int32_t row) { level_[row] = level; });
}

void HopSearch::write_scores(const int32_t *rank, int64_t nodes, double *scores) const {
    int32_t most = 0;
    for (const int32_t level : level_) most = level > most ? level : most;
    std::vector<double> of_level{std::numeric_limits<double>::infinity(), 0.0};  // from level -1 on
    for (int32_t level = 1; level <= most; ++level) of_level.push_back(of_level.back() + edges_.uniform);
    for (int64_t node = 0; node < nodes; ++node) scores[node] = of_level[level_[rank[node]] + 1];
}

}  // namespace nbfnet
