// RowStream: named rows of a database, which come batch by batch in their order and are numbered as they come.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reading/arrow_stream.hpp"
#include "reading/name_table.hpp"

namespace nbfnet {

struct NumberedRows {
    std::vector<int32_t> head, relation, tail;
    std::vector<double> weight;  // empty where rows have none
};

class RowStream {
  public:
    // Takes the stream. Its columns must be row (int64, ascending), head, relation, tail (text) and, perhaps, weight.
    explicit RowStream(ArrowArrayStream *stream);
    RowStream(const RowStream &) = delete;
    RowStream &operator=(const RowStream &) = delete;
    ~RowStream();

    bool weighted() const { return text_is_large_.size() == 4; }

    // Numbers the next batch; false at the end. Names that are new are added; entities only if `add`: else the rows
    // with an entity that has no number are left out.
    bool number(NameTable &entities, NameTable &relations, bool add, NumberedRows &found);

  private:
    [[noreturn]] void fail() const;
    std::string_view text(const ArrowArray &column, int64_t row, bool large) const;

    ArrowArrayStream stream_;
    std::vector<bool> text_is_large_;  // of each column after the first: whether its offsets are int64
    int64_t row_ = -1;                 // the last one
};

}  // namespace nbfnet
