// What the compiled Bellman-Ford works on: rows of a graph, panels of values, and the loops over them.
//
// A panel holds one value per (row, lane): `width` sources are solved at once, one in each lane, so that an edge is
// read once for all of them and a row of a wide panel is whole cache lines and whole vector registers.
#pragma once

#include <cstdint>

namespace nbfnet {

// Edges by tail (to pull along) and by head (to push along). Rows are nodes numbered by falling degree. An edge's
// representation is weight * factor of its tail (or * uniform), where `*` is the semiring's multiplication.
struct PathEdges {
    int64_t rows;
    const int64_t *begin;      // (row + 1)
    const int32_t *source;     // (slot)
    const double *weight;      // (slot), or null: the semiring's one
    const int64_t *out_begin;  // (row + 1)
    const int32_t *target;     // (edge)
    const double *out_weight;  // (edge), or null
    const double *factor;      // (row), or null: uniform
    double uniform;
};

// 1_q(u = v): lane i starts in row[i]; rows ascend, and the last entry is a row that does not exist.
struct Boundary {
    int32_t lanes;
    int64_t row[17];
    int32_t lane[17];
};

// The inner loops for one semiring and one panel width. All panels are aligned to 64 bytes.
struct PathLoops {
    int32_t width;
    double zero;
    double one;
    bool idempotent;

    // Rows [first, last) of one iteration: next = (sum over in-edges of now * w) + boundary; `next` may be `now`.
    // Idempotent: changed[row] tells which rows changed. Returns how many rows changed, for plus_times by more
    // than `tolerance` of their value.
    int64_t (*pull)(const PathEdges &, const Boundary &, int64_t first, int64_t last, const double *now, double *next,
                    uint8_t *changed, double tolerance);

    // One iteration from few rows: values[i] of rows[i] goes along its out-edges into `sums`. Rows that change are
    // marked and listed in `reached`; returns how many.
    int64_t (*push)(const PathEdges &, const int32_t *rows, int64_t count, const double *values, double *sums,
                    uint8_t *marked, int32_t *reached);
};

enum class PathSemiring : int32_t { plus_times = 0, min_plus = 1, max_min = 2, max_times = 3 };

// The same loops compiled for several instruction sets. `width` is 1, 8 or 16.
namespace baseline {
PathLoops path_loops(PathSemiring semiring, int32_t width, bool weighted);
}
#if defined(__x86_64__)
namespace avx2 {
PathLoops path_loops(PathSemiring semiring, int32_t width, bool weighted);
}
namespace avx512 {
PathLoops path_loops(PathSemiring semiring, int32_t width, bool weighted);
}
#endif

}  // namespace nbfnet
