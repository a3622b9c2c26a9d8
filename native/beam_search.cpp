#include "beam_search.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "checks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {

int64_t PathList::find(const int64_t *slots, int32_t length, int64_t slot) const {
    for (int64_t i = 0; i < size_; ++i) {
        const int64_t *other = this->slots(i);
        if (length_[i] == length + 1 && other[length] == slot && std::equal(slots, slots + length, other)) return i;
    }
    return -1;
}

bool PathList::is_better(double weight, const int64_t *slots, int32_t length, int64_t slot, int64_t i) const {
    if (weight != weight_[i]) return weight > weight_[i];
    if (length + 1 != length_[i]) return length + 1 < length_[i];
    const int64_t *other = this->slots(i);
    const auto [mine, theirs] = std::mismatch(slots, slots + length, other);
    return mine != slots + length ? *mine < *theirs : slot < other[length];
}

void PathList::remove(int64_t i) {
    weight_.erase(weight_.begin() + i);
    length_.erase(length_.begin() + i);
    slots_.erase(slots_.begin() + i * longest_, slots_.begin() + (i + 1) * longest_);
    --size_;
}

void PathList::insert(double weight, const int64_t *slots, int32_t length, int64_t slot) {
    if (size_ == capacity_ && !is_better(weight, slots, length, slot, size_ - 1)) return;
    const int64_t same = find(slots, length, slot);
    if (same >= 0) {
        if (weight_[same] >= weight) return;
        remove(same);
    } else if (size_ == capacity_) {
        remove(size_ - 1);
    }
    int64_t place = size_;
    while (place > 0 && is_better(weight, slots, length, slot, place - 1)) --place;
    weight_.insert(weight_.begin() + place, weight);
    length_.insert(length_.begin() + place, length + 1);
    const auto at = slots_.insert(slots_.begin() + place * longest_, longest_, 0);
    std::copy(slots, slots + length, at);
    at[length] = slot;
    ++size_;
}

void PathList::insert_empty_path() {
    weight_.assign(1, 0.0);
    length_.assign(1, 0);
    slots_.assign(longest_, 0);
    size_ = 1;
}

void PathList::copy_from(const PathList &other) {
    weight_ = other.weight_;
    length_ = other.length_;
    slots_ = other.slots_;
    size_ = other.size_;
}

void PathList::clear() {
    weight_.clear();
    length_.clear();
    slots_.clear();
    size_ = 0;
}

namespace {

// Whether a path already stands on a node: the nodes it has left are the sources of its edges.
bool visits(const BeamRequest &request, const int64_t *slots, int32_t length, int32_t node) {
    for (int32_t i = 0; i < length; ++i) {
        if (request.source[slots[i]] == node) return true;
    }
    return false;
}

// Every path of the iteration before, one edge longer, that ends in a node at this iteration.
void pull(const BeamRequest &request, int64_t iteration, const std::vector<PathList> &before, int32_t node,
          PathList &list) {
    const double *importance = request.importance + iteration * request.slots;
    const bool ends = node == request.answer;
    for (int64_t slot = request.indptr[node]; slot < request.indptr[node + 1]; ++slot) {
        const int32_t head = request.source[slot];
        if (!ends && head == node) continue;
        const PathList &paths = before[head];
        for (int64_t i = 0; i < paths.size(); ++i) {
            const double weight = paths.weight(i) + importance[slot];
            if (!list.may_enter(weight)) break;  // the paths are in the order of their weights
            if (!ends && visits(request, paths.slots(i), paths.length(i), node)) continue;
            list.insert(weight, paths.slots(i), paths.length(i), slot);
        }
    }
}

}  // namespace

PathList beam_search(const BeamRequest &request) {
    std::vector<PathList> before(request.nodes, PathList(request.beam, request.iterations)), after = before;
    PathList found(request.count, request.iterations);
    before[request.start].insert_empty_path();
    after[request.start].insert_empty_path();
    for (int64_t t = 0; t < request.iterations; ++t) {
        pull(request, t, before, request.answer, found);
        const int64_t left = request.iterations - t - 1;
        std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic, 64) num_threads(request.threads)
        for (int64_t node = 0; node < request.nodes; ++node) {
            if (node == request.start || node == request.answer) continue;
            try {
                PathList &list = after[node];
                if (request.distance[node] > left) {  // too far to arrive in time
                    list.clear();
                    continue;
                }
                list.copy_from(before[node]);  // a path may rest for an iteration
                pull(request, t, before, static_cast<int32_t>(node), list);
            } catch (...) {
#pragma omp critical
                failure = std::current_exception();
            }
        }
        if (failure) std::rethrow_exception(failure);
        std::swap(before, after);
    }
    return found;
}

namespace {

// The paths, best first: their weights and the slots of their edges.
std::tuple<std::vector<double>, std::vector<std::vector<int64_t>>> search(
    In<int64_t> indptr, In<int32_t> source, In<double, 2> importance, In<int32_t> distance, int32_t start,
    int32_t answer, int64_t beam, int64_t count, int threads) {
    const int64_t nodes = expect_rows("indptr", indptr), slots_of_all = length(source), iterations = length(importance);
    expect_runs("indptr", indptr, nodes, slots_of_all);
    expect_ids("source", source, nodes);
    expect_length("each iteration of importance", length(importance, 1), slots_of_all);
    const auto is_finite = [](double weight) { return std::isfinite(weight); };
    expect(std::all_of(importance.data(), importance.data() + importance.size(), is_finite),
           "importance holds a value that is not finite");
    expect(iterations <= most_ids, "importance has " + std::to_string(iterations) + " iterations");
    expect_length("distance", length(distance), nodes);
    expect_id("start", start, nodes);
    expect_id("answer", answer, nodes);
    expect(beam >= 1 && count >= 1, "beam and count must be at least 1");
    expect_threads(threads);
    const BeamRequest request{nodes, slots_of_all, iterations, indptr.data(), source.data(),
                              importance.data(), distance.data(), start, answer, beam, count, threads};
    std::vector<double> weights;
    std::vector<std::vector<int64_t>> slots;
    nb::gil_scoped_release release;
    const PathList found = beam_search(request);
    for (int64_t i = 0; i < found.size(); ++i) {
        weights.push_back(found.weight(i));
        slots.emplace_back(found.slots(i), found.slots(i) + found.length(i));
    }
    return {std::move(weights), std::move(slots)};
}

}  // namespace

}  // namespace nbfnet

void bind_beam_search(nb::module_ &m) {
    m.def("beam_search", &nbfnet::search, "indptr"_a.noconvert(), "source"_a.noconvert(), "importance"_a.noconvert(),
          "distance"_a.noconvert(), "start"_a, "answer"_a, "beam"_a, "count"_a, "threads"_a);
}
