#include "reading/row_stream.hpp"

#include <algorithm>
#include <stdexcept>

namespace nbfnet {
namespace {

constexpr int64_t block = 1 << 11;  // rows that are hashed at once: their names are still in the cache when they are
                                    // looked up

// What Arrow hands over is released by whoever took it.
template <class T>
struct Taken : T {
    Taken() : T{} {}
    Taken(const Taken &) = delete;
    ~Taken() {
        if (this->release) this->release(this);
    }
};

template <class T>
const T *buffer(const ArrowArray &column, int which) {
    return static_cast<const T *>(column.buffers[which]);
}

bool is_missing(const ArrowArray &column, int64_t row) {
    const uint8_t *valid = buffer<uint8_t>(column, 0);
    const int64_t at = column.offset + row;
    return valid && !(valid[at / 8] >> (at % 8) & 1);
}

}  // namespace

RowStream::RowStream(ArrowArrayStream *stream) : stream_(*stream) {
    stream->release = nullptr;
    Taken<ArrowSchema> schema;
    if (stream_.get_schema(&stream_, &schema)) {
        const std::string what = stream_.get_last_error(&stream_) ? stream_.get_last_error(&stream_) : "no columns";
        stream_.release(&stream_);
        throw std::runtime_error(what);
    }
    bool fits = schema.n_children == 4 || schema.n_children == 5;
    for (int64_t i = 0; fits && i < schema.n_children; ++i) {
        const std::string_view format = schema.children[i]->format;
        fits = i == 0 ? format == "l" : i == 4 ? format == "g" : format == "u" || format == "U";
        if (i) text_is_large_.push_back(format == "U");
    }
    if (!fits) {
        stream_.release(&stream_);
        throw std::invalid_argument("the columns are not row, head, relation, tail and weight");
    }
}

RowStream::~RowStream() {
    if (stream_.release) stream_.release(&stream_);
}

bool RowStream::number(NameTable &entities, NameTable &relations, bool add, NumberedRows &found) {
    Taken<ArrowArray> batch;
    if (stream_.get_next(&stream_, &batch)) fail();
    if (!batch.release) return false;
    const int64_t rows = batch.length;
    if (batch.n_children != static_cast<int64_t>(text_is_large_.size()) + 1 || batch.offset)
        throw std::invalid_argument("the columns of a batch are not those that were announced");
    const ArrowArray &row_column = *batch.children[0];
    const int64_t *row = buffer<int64_t>(row_column, 1) + row_column.offset;
    const double *weight = weighted() ? buffer<double>(*batch.children[4], 1) + batch.children[4]->offset : nullptr;

    std::vector<HashedName> ends(2 * block);
    std::vector<int32_t> numbers(2 * block);
    for (int64_t begin = 0; begin < rows; begin += block) {
        const int64_t count = std::min(block, rows - begin);
        for (int64_t i = 0; i < count; ++i) {
            ends[2 * i] = hashed(text(*batch.children[1], begin + i, text_is_large_[0]));
            ends[2 * i + 1] = hashed(text(*batch.children[3], begin + i, text_is_large_[2]));
        }
        if (add) entities.number_all(ends.data(), 2 * count, row + begin, numbers.data());
        else
            for (int64_t i = 0; i < 2 * count; ++i) numbers[i] = entities.find(ends[i]);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t at = row[begin + i];
            if (at <= row_) throw std::logic_error("rows came out of their order");
            row_ = at;
            // Of a row that is left out, the relation has a number all the same.
            const int32_t relation =
                relations.number(hashed(text(*batch.children[2], begin + i, text_is_large_[1])), at);
            if (numbers[2 * i] == NameTable::unknown || numbers[2 * i + 1] == NameTable::unknown) continue;
            found.head.push_back(numbers[2 * i]);
            found.relation.push_back(relation);
            found.tail.push_back(numbers[2 * i + 1]);
            if (weight) found.weight.push_back(weight[begin + i]);
        }
    }
    return true;
}

void RowStream::fail() const {
    ArrowArrayStream stream = stream_;
    const char *what = stream.get_last_error(&stream);
    throw std::runtime_error(what ? what : "the rows ended before their end");
}

std::string_view RowStream::text(const ArrowArray &column, int64_t row, bool large) const {
    if (is_missing(column, row)) throw std::invalid_argument("a name is missing");
    const int64_t at = column.offset + row;
    const char *bytes = buffer<char>(column, 2);
    if (large) {
        const int64_t *begin = buffer<int64_t>(column, 1) + at;
        return {bytes + begin[0], static_cast<size_t>(begin[1] - begin[0])};
    }
    const int32_t *begin = buffer<int32_t>(column, 1) + at;
    return {bytes + begin[0], static_cast<size_t>(begin[1] - begin[0])};
}

}  // namespace nbfnet
