// PanelSolver: Bellman-Ford iterations on one panel of sources, sparse while few rows change, dense when many do.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "memory/aligned_array.hpp"
#include "paths/path_edges.hpp"

namespace nbfnet {

struct Stopping {
    int64_t iterations;  // exactly so many, or at most
    bool until_convergence;
    double tolerance;  // plus_times: the largest relative change of a value that counts as none
};

class PanelSolver {
  public:
    PanelSolver(const PathEdges &edges, const PathLoops &loops, int32_t threads);

    // After t iterations the panel holds the sum over all paths of at most t edges, from every lane's source.
    // Until convergence, min and max may run ahead of the iteration: the fixed point is the same. Returns whether
    // the last iteration changed nothing.
    bool solve(const Boundary &boundary, const Stopping &stopping, const std::function<bool()> &interrupted);

    const double *values() const { return now_; }  // (row, lane)

  private:
    void start(const Boundary &boundary);
    void carry(const double *values);
    bool is_sparse() const;
    bool push(double tolerance);  // both tell whether something changed
    bool pull(const Boundary &boundary, bool in_place, double tolerance);
    void list_changed();
    bool is_finite() const;

    const PathEdges &edges_;
    const PathLoops &loops_;
    const int32_t threads_;
    std::vector<int64_t> splits_;  // first rows of chunks of about equal work
    AlignedArray<double> first_, second_, carried_;
    double *now_, *next_;
    std::vector<uint8_t> changed_;   // (row,)
    std::vector<int32_t> reached_;   // (row,) room for a list of rows
    std::vector<int32_t> frontier_;  // rows whose last change was not passed on yet; what they pass on is `carried_`
    bool listed_ = false;            // whether the frontier is known
};

}  // namespace nbfnet
