// How a call is shared among threads: whole queries where there are enough of them, else ranges of each query's rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace nbfnet {

// Bounds (parts + 1) of row ranges of about equal work: a row costs its edges, and something for itself.
inline std::vector<int64_t> cut_rows(const int64_t *indptr, int64_t rows, int64_t parts) {
    constexpr int64_t edges_worth_a_row = 4;
    const auto work_before = [&](int64_t row) { return indptr[row] + edges_worth_a_row * row; };
    std::vector<int64_t> bounds(parts + 1, rows);
    bounds[0] = 0;
    for (int64_t part = 1; part < parts; ++part) {
        const int64_t wanted = work_before(rows) * part / parts;
        int64_t low = bounds[part - 1], high = rows;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (work_before(middle) < wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        bounds[part] = low;
    }
    return bounds;
}

// Ranges a query where they cost nothing: enough of them that no thread idles long at the end.
inline int64_t free_ranges_per_query(int64_t queries, int64_t threads) {
    if (threads == 1 || queries >= 4 * threads) return 1;
    return (4 * threads + queries - 1) / queries;
}

// Ranges a query where each further one costs a private buffer: the fewest that keep three quarters of threads busy.
inline int64_t costly_ranges_per_query(int64_t queries, int64_t threads) {
    int64_t ranges = 1;
    while (true) {
        const int64_t units = queries * ranges, rounds = (units + threads - 1) / threads;
        if (4 * units >= 3 * rounds * threads) return ranges;
        ++ranges;
    }
}

}  // namespace nbfnet
