// Stable counting sort of small integer keys: the O(E + V) step that turns a list of edges into CSR rows.
#include <cstdint>

#include "checks.hpp"

namespace nb = nanobind;

namespace nbfnet {
namespace {

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

}  // namespace
}  // namespace nbfnet

void bind_counting_sort(nb::module_ &m) {
    m.def("counting_sort", &nbfnet::counting_sort, nb::arg("keys").noconvert(), nb::arg("indptr").noconvert(),
          nb::arg("order").noconvert());
}
