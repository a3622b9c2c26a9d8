// Panels of sources, solved side by side or one by one.
#include "paths/bellman_ford.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "memory/parallel.hpp"
#include "paths/hop_search.hpp"
#include "simd/instruction_set.hpp"

namespace nbfnet {

namespace {

constexpr int64_t side_by_side_memory = int64_t{1} << 30;  // bytes of panels that may be alive at once
constexpr int64_t worth_a_thread = 500'000;  // rows and edges, about 0.2 ms: less is not worth waking a thread for

PathLoops loops_of_instruction_set(PathSemiring semiring, int32_t width, bool weighted) {
#if defined(__x86_64__)
    if (instruction_set() == InstructionSet::avx512) return avx512::path_loops(semiring, width, weighted);
    if (instruction_set() == InstructionSet::avx2) return avx2::path_loops(semiring, width, weighted);
#endif
    return baseline::path_loops(semiring, width, weighted);
}

// Wide panels share the reading of an edge; the memory of a very large graph only allows narrow ones.
int32_t panel_width(int64_t sources, int64_t rows) {
    if (sources > 8 && rows <= 4'000'000) return 16;
    return sources > 1 && rows <= 16'000'000 ? 8 : 1;
}

// The calling thread asks ten times a second at most; the others read the answer.
class Interruption {
  public:
    explicit Interruption(const std::function<bool()> &ask) : ask_(ask) {}

    bool operator()(bool is_calling_thread) {
        const auto now = std::chrono::steady_clock::now();
        if (is_calling_thread && now - last_ > std::chrono::milliseconds(100)) {
            last_ = now;
            if (ask_()) came_ = true;
        }
        return came_;
    }
    bool came() const { return came_; }

  private:
    const std::function<bool()> &ask_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::atomic<bool> came_{false};
};

Boundary boundary_of(const int32_t *sources, int32_t lanes, const int32_t *rank) {
    Boundary boundary;
    boundary.lanes = lanes;
    std::pair<int64_t, int32_t> starts[16];
    for (int32_t lane = 0; lane < lanes; ++lane) starts[lane] = {rank[sources[lane]], lane};
    std::sort(starts, starts + lanes);
    for (int32_t i = 0; i < lanes; ++i) {
        boundary.row[i] = starts[i].first;
        boundary.lane[i] = starts[i].second;
    }
    boundary.row[lanes] = std::numeric_limits<int64_t>::max();
    return boundary;
}

void write_scores(const PanelSolver &solver, int32_t width, const int32_t *rank, int64_t nodes, int32_t lanes,
                  int threads, double *scores) {
    const double *values = solver.values();
    parallel(threads, [&](int thread) {
        for (int64_t node = nodes * thread / threads; node < nodes * (thread + 1) / threads; ++node) {
            const double *row = values + static_cast<int64_t>(rank[node]) * width;
            for (int32_t lane = 0; lane < lanes; ++lane) scores[lane * nodes + node] = row[lane];
        }
    });
}

}  // namespace

bool bellman_ford(const PathRequest &request, const std::function<bool()> &interrupted, double *scores) {
    const PathEdges &edges = request.edges;
    const int64_t nodes = edges.rows, count = request.source_count;
    const bool weighted = edges.weight != nullptr;
    const int32_t width = panel_width(count, nodes);
    const PathLoops loops = loops_of_instruction_set(request.semiring, width, weighted);
    const int64_t panels = (count + width - 1) / width;
    // A panel a thread needs no waiting for each other, but memory for all.
    const int64_t panel_bytes = 2 * nodes * width * static_cast<int64_t>(sizeof(double));
    const bool side_by_side = panels >= request.threads && panel_bytes * request.threads <= side_by_side_memory;
    const double work = static_cast<double>(edges.begin[nodes] + nodes) * std::max(1, width / 4) *
                        (side_by_side ? static_cast<double>(panels) : 1.0);
    const int threads = static_cast<int>(std::clamp<double>(work / worth_a_thread, 1, request.threads));
    const int outer = side_by_side ? threads : 1, inner = side_by_side ? 1 : threads;
    const bool counts_hops =
        request.semiring == PathSemiring::min_plus && width == 1 && !weighted && !edges.factor && edges.uniform > 0;
    Interruption interruption(interrupted);
    std::atomic<int64_t> next_panel{0};
    std::atomic<bool> settled{true};
    parallel(outer, [&](int thread) {
        const auto is_interrupted = [&] { return interruption(thread == 0); };
        std::unique_ptr<PanelSolver> solver;  // reuses its panels
        std::unique_ptr<HopSearch> search;
        for (int64_t panel; (panel = next_panel++) < panels && !interruption.came();) {
            const int64_t first = panel * width;
            const int32_t lanes = static_cast<int32_t>(std::min<int64_t>(width, count - first));
            const Boundary boundary = boundary_of(request.sources + first, lanes, request.rank);
            double *out = scores + first * nodes;
            if (counts_hops) {
                if (!search) search = std::make_unique<HopSearch>(edges);
                if (!search->solve(boundary.row[0], request.stopping.iterations, is_interrupted)) settled = false;
                search->write_scores(request.rank, nodes, out);
            } else {
                if (!solver) solver = std::make_unique<PanelSolver>(edges, loops, inner);
                if (!solver->solve(boundary, request.stopping, is_interrupted)) settled = false;
                write_scores(*solver, width, request.rank, nodes, lanes, inner, out);
            }
        }
    });
    return settled;
}

void multiply_rows(const PathEdges &edges, const double *x, double *product) {
    const PathLoops loops = loops_of_instruction_set(PathSemiring::plus_times, 1, true);
    Boundary none;
    none.lanes = 0;
    none.row[0] = std::numeric_limits<int64_t>::max();
    loops.pull(edges, none, 0, edges.rows, x, product, nullptr, 0.0);
}

}  // namespace nbfnet
