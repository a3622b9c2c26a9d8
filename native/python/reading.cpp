// Reading as Python calls it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <optional>
#include <utility>
#include <vector>

#include "python/checks.hpp"
#include "python/results.hpp"
#include "reading/row_stream.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

// An array of a table; what is added to the table later may move it, so it is a copy.
template <class T, class Of>
NumPy<T> copied(const std::vector<Of> &values) {
    return kept(std::vector<T>(values.begin(), values.end()));
}

// Takes what a capsule of Arrow's holds.
void take_stream(RowStream *self, nb::capsule capsule) {
    void *stream = PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream");
    if (!stream) throw nb::python_error();
    expect(static_cast<ArrowArrayStream *>(stream)->release, "the stream was taken already");
    new (self) RowStream(static_cast<ArrowArrayStream *>(stream));
}

using Batch = std::tuple<NumPy<int32_t>, NumPy<int32_t>, NumPy<int32_t>, std::optional<NumPy<double>>>;

// Head, relation, tail and weight of the next rows; nothing at the end.
std::optional<Batch> number_rows(RowStream &stream, NameTable &entities, NameTable &relations, bool add) {
    expect(&entities != &relations, "entities and relations are one table, expected two");
    NumberedRows found;
    {
        nb::gil_scoped_release release;
        if (!stream.number(entities, relations, add, found)) return std::nullopt;
    }
    std::optional<NumPy<double>> weight;
    if (stream.weighted()) weight = kept(std::move(found.weight));
    return Batch{kept(std::move(found.head)), kept(std::move(found.relation)), kept(std::move(found.tail)), weight};
}

}  // namespace
}  // namespace nbfnet

void bind_reading(nb::module_ &m) {
    using namespace nbfnet;
    nb::class_<NameTable>(m, "NameTable")
        .def(nb::init<>())
        .def("__len__", &NameTable::count)
        .def(
            "add", [](NameTable &table, std::string_view name) { return table.number(hashed(name), -1); }, "name"_a)
        .def("offsets", [](const NameTable &table) { return copied<int64_t>(table.offsets()); })
        .def("text", [](const NameTable &table) { return copied<uint8_t>(table.text()); })
        .def("first", [](const NameTable &table) { return copied<int64_t>(table.first()); })
        .def("memory", &NameTable::memory);
    nb::class_<RowStream>(m, "RowStream")
        .def("__init__", &take_stream, "stream"_a)
        .def("number", &number_rows, "entities"_a, "relations"_a, "add"_a);
}
