// How the rows of one iteration are dealt out to threads: always the same way, so that sums come out the same.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/row_plan.hpp"

namespace nbfnet {

// Consecutive rows of one group, for one thread.
struct Share {
    int64_t group, row_begin, row_end;
};

struct WorkShares {
    std::vector<std::vector<Share>> of_thread;
    // (group) whether several threads read this group's rows of the iteration before, and so add to their gradients.
    std::vector<char> contested;
};

WorkShares share_work(const RowPlan &plan, const Graph &graph, int64_t iteration, int threads);

}  // namespace nbfnet
