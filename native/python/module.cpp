// The one compiled extension of the package, `nbfnet._native`: arrays in and out, no PyTorch headers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <new>

#include "memory/block_pool.hpp"
#include "python/checks.hpp"
#include "simd/instruction_set.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

// Stable counting sort of small integer keys: the O(E + V) step that turns a list of edges into CSR rows.
// indptr (rows + 1) receives where each key's run begins, order (n) the positions of the keys, sorted stably.
void counting_sort(In<int32_t> keys, Out<int64_t> indptr, Out<int64_t> order) {
    const int64_t n = length(keys);
    const int64_t rows = length(indptr) - 1;
    expect(rows >= 0, "indptr is empty, expected at least one entry");
    expect_length("order", length(order), n);
    expect_ids("keys", keys, rows);
    const int32_t *key = keys.data();
    int64_t *begin = indptr.data();
    int64_t *sorted = order.data();
    nb::gil_scoped_release release;

    for (int64_t i = 0; i <= rows; ++i) begin[i] = 0;
    for (int64_t i = 0; i < n; ++i) ++begin[int64_t{key[i]} + 1];
    for (int64_t row = 0; row < rows; ++row) begin[row + 1] += begin[row];
    // Each run's begin serves as its write cursor, and ends one run further: shift back afterwards.
    for (int64_t i = 0; i < n; ++i) sorted[begin[key[i]]++] = i;
    for (int64_t row = rows; row > 0; --row) begin[row] = begin[row - 1];
    begin[0] = 0;
}

// An array in memory that is kept when it is freed.
nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> pooled_bytes(size_t size) {
    void *block = take_block(std::max<size_t>(size, 1));
    if (!block) throw std::bad_alloc();
    return {block, {size}, nb::capsule(block, [](void *data) noexcept { give_back_block(data); })};
}

}  // namespace
}  // namespace nbfnet

NB_MODULE(_native, m) {
    using namespace nbfnet;
    nb::set_leak_warnings(false);  // what lives until the interpreter ends is not a leak
    m.doc() = "Compiled core of nbfnet. Arrays in and out. Every entry checks its arguments once.";
    m.def("counting_sort", &counting_sort, "keys"_a.noconvert(), "indptr"_a.noconvert(), "order"_a.noconvert());
    m.def("pooled_bytes", &pooled_bytes, "size"_a);
    m.def("instruction_set", [] { return name_of(instruction_set()); });
    m.def("instruction_sets", &available_instruction_sets);
    m.def("choose_instruction_set", &choose_instruction_set, "name"_a);
    bind_paths(m);
    bind_row_plan(m);
    bind_fused_iteration(m);
    bind_meetings(m);
    bind_sampling(m);
    bind_score(m);
    bind_reading(m);
}
