// NameTable: numbers names 0, 1, 2, ... in the order they are first met. Their bytes lie end to end.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace nbfnet {

// A name with its hash, so that its place in the table can be fetched before it is looked at.
struct HashedName {
    std::string_view text;
    uint32_t hash;
};

HashedName hashed(std::string_view text);

class NameTable {
  public:
    static constexpr int32_t unknown = -1;

    NameTable();

    // The number of a name; one that is new gets the next, and the row is kept as that of its first appearance.
    int32_t number(const HashedName &name, int64_t row);

    // The number of a name, or `unknown`.
    int32_t find(const HashedName &name) const;

    // Numbers of several names, each with the row of its two neighbours: names 2 i and 2 i + 1 are of row i.
    void number_all(const HashedName *names, int64_t count, const int64_t *row, int32_t *number);

    int64_t count() const { return static_cast<int64_t>(first_.size()); }
    const std::vector<int64_t> &offsets() const { return offsets_; }  // (name + 1,)
    const std::vector<char> &text() const { return text_; }
    const std::vector<int64_t> &first() const { return first_; }  // (name,) the row of its first appearance

    // Bytes of memory that it takes.
    int64_t memory() const;

  private:
    struct Place {
        uint32_t hash;
        int32_t number;  // one more than the name's: zeros are a free place
    };

    struct Freed {
        void operator()(Place *places) const;
    };
    using Places = std::unique_ptr<Place[], Freed>;

    static Places free_places(int64_t count);
    uint64_t place_of(const HashedName &name) const;
    std::string_view name(int32_t number) const {
        return {text_.data() + offsets_[number], static_cast<size_t>(offsets_[number + 1] - offsets_[number])};
    }
    void grow();

    int64_t size_;  // of the places, a power of 2
    Places places_;
    std::vector<int64_t> offsets_, first_;
    std::vector<char> text_;
};

}  // namespace nbfnet
