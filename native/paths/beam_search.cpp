#include "paths/beam_search.hpp"

#include <algorithm>

#include "memory/parallel.hpp"

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
        constexpr int64_t piece = 64;
        parallel_each(request.threads, (request.nodes + piece - 1) / piece, [&](int64_t i) {
            for (int64_t node = i * piece; node < std::min((i + 1) * piece, request.nodes); ++node) {
                if (node == request.start || node == request.answer) continue;
                PathList &list = after[node];
                if (request.distance[node] > left) {  // too far to arrive in time
                    list.clear();
                    continue;
                }
                list.copy_from(before[node]);  // a path may rest for an iteration
                pull(request, t, before, static_cast<int32_t>(node), list);
            }
        });
        std::swap(before, after);
    }
    return found;
}

}  // namespace nbfnet
