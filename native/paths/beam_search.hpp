// Beam search: the best paths from a source to an answer, by a Bellman-Ford iteration over lists of partial paths.
//
// A path is a sequence of edges that visits no node twice. It walks its edges in ascending iterations, one edge an
// iteration at most, and weighs the sum of each edge's importance at the iteration in which it is walked.
#pragma once

#include <cstdint>
#include <vector>

namespace nbfnet {

struct BeamRequest {
    int64_t nodes = 0, slots = 0, iterations = 0;
    const int64_t *indptr = nullptr;     // (node + 1) in-edges
    const int32_t *source = nullptr;     // (slot)
    const double *importance = nullptr;  // (iteration, slot)
    const int32_t *distance = nullptr;   // (node) edges to the answer at least, or more than the iterations
    int32_t start = 0, answer = 0;
    int64_t beam = 0, count = 0;  // partial paths kept at a node, paths kept at the answer
    int threads = 1;
};

// The best paths of one node, best first: by weight, then fewer edges, then smaller slots.
class PathList {
  public:
    PathList(int64_t capacity, int64_t longest) : capacity_(capacity), longest_(longest) {}

    int64_t size() const { return size_; }
    double weight(int64_t i) const { return weight_[i]; }
    int32_t length(int64_t i) const { return length_[i]; }
    const int64_t *slots(int64_t i) const { return slots_.data() + i * longest_; }

    // Whether a path of this weight may enter: equal weights are decided by insert.
    bool may_enter(double weight) const { return size_ < capacity_ || weight >= weight_[size_ - 1]; }
    // Adds a path: another one followed by a slot, or the path of no edge. Each sequence of slots is kept once.
    void insert(double weight, const int64_t *slots, int32_t length, int64_t slot);
    void insert_empty_path();
    void copy_from(const PathList &other);
    void clear();

  private:
    int64_t find(const int64_t *slots, int32_t length, int64_t slot) const;
    bool is_better(double weight, const int64_t *slots, int32_t length, int64_t slot, int64_t i) const;
    void remove(int64_t i);

    int64_t capacity_, longest_, size_ = 0;
    std::vector<double> weight_;
    std::vector<int32_t> length_;  // (path)
    std::vector<int64_t> slots_;   // (path, longest)
};

PathList beam_search(const BeamRequest &request);

}  // namespace nbfnet
