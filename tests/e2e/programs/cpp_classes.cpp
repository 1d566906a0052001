/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * C++: member functions that map this, members with pointers, virtual functions called in a region on objects made
 * there, references, std::vector data, std::array, templates, static locals, operators, move of owners between
 * constructs, exceptions around them.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <array>
#include <memory>
#include <omp.h>
#include <stdexcept>
#include <vector>

namespace
{

class Field
{
  public:
    explicit Field(int n) : n_(n), data_(new double[static_cast<std::size_t>(n)]())
    {
#pragma omp target enter data map(to : this[0 : 1])
#pragma omp target enter data map(to : data_[0 : n_])
    }
    Field(const Field &) = delete;
    Field &operator=(const Field &) = delete;
    ~Field()
    {
#pragma omp target exit data map(delete : data_[0 : n_])
#pragma omp target exit data map(delete : this[0 : 1])
        delete[] data_;
    }
    void add(double value)
    {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < n_; i++)
            data_[i] += value;
    }
    void scale_later(double factor)
    {
#pragma omp target nowait depend(inout : data_[0]) map(present, alloc : data_[0 : n_])
        for (int i = 0; i < n_; i++)
            data_[i] *= factor;
    }
    void fetch()
    {
#pragma omp target update from(data_[0 : n_])
    }
    const double *data() const
    {
        return data_;
    }

  private:
    int n_;
    double *data_;
};

void members()
{
    Field a(500), b(300);
    a.add(1);
    b.add(2);
    for (int i = 0; i < 3; i++)
        a.scale_later(2);
    b.scale_later(5);
#pragma omp taskwait
    a.add(1);
    a.fetch();
    b.fetch();
    CHECK(all_are(a.data(), 500, 9) && all_are(b.data(), 300, 10));
}

struct Counter {
    int count = 0;
    double total = 0;
    void run(const double *x, int n)
    {
#pragma omp target map(tofrom : this[0 : 1]) map(to : x[0 : n])
        for (int i = 0; i < n; i++) {
            count++;
            total += x[i];
        }
    }
    void run_members(const double *x, int n)
    {
#pragma omp target map(tofrom : count, total) map(to : x[0 : n])
        for (int i = 0; i < n; i++) {
            count++;
            total += x[i];
        }
    }
};

void this_pointer()
{
    std::vector<double> x(TILE, 2.0);
    Counter c;
    c.run(x.data(), TILE);
    CHECK(c.count == TILE && c.total == 2 * TILE);
    c.run_members(x.data(), 10);
    CHECK(c.count == TILE + 10 && c.total == 2 * TILE + 20);
}

#pragma omp begin declare target
struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Square final : Shape {
    double side;
    explicit Square(double s) : side(s)
    {
    }
    double area() const override
    {
        return side * side;
    }
};
struct Disc final : Shape {
    double radius;
    explicit Disc(double r) : radius(r)
    {
    }
    double area() const override
    {
        return 3 * radius * radius;
    }
};
template <typename T> T twice(const T &value)
{
    return value + value;
}
int next_call()
{
    static int calls = 0;
    return ++calls;
}
#pragma omp end declare target

void virtual_functions()
{
    double sum = 0;
#pragma omp target map(tofrom : sum)
    {
        Square square(3);
        Disc disc(2);
        const Shape *shapes[2] = {&square, &disc};
        for (const Shape *shape : shapes)
            sum += twice(shape->area());
    }
    CHECK(sum == 42);
    int calls = 0;
    for (int i = 0; i < 3; i++) {
#pragma omp target map(from : calls)
        calls = next_call();
    }
    CHECK(calls == 3);
    CHECK(next_call() == 1);
}

void references(double &scalar, std::array<double, 64> &table, std::vector<double> &v)
{
    double *data = v.data();
    const auto n = static_cast<int>(v.size());
#pragma omp target map(tofrom : scalar, table, data[0 : n])
    {
        scalar += 1;
        table[3] = 30;
        for (int i = 0; i < n; i++)
            data[i] += scalar;
    }
    const double &constant = scalar;
#pragma omp target map(tofrom : table)
    table[4] = constant;
#pragma omp target firstprivate(scalar)
    scalar = 100;
}

void containers()
{
    double scalar = 1;
    std::array<double, 64> table{};
    std::vector<double> v(TILE, 5.0), w;
    references(scalar, table, v);
    CHECK(scalar == 2 && table[3] == 30 && table[4] == 2 && all_are(v.data(), TILE, 7));
    double *p = v.data();
#pragma omp target enter data map(to : p[0 : TILE])
    w = std::move(v); /* the memory keeps its address */
    CHECK(w.data() == p);
#pragma omp target teams distribute parallel for
    for (int i = 0; i < TILE; i++)
        p[i] += 1;
#pragma omp target exit data map(from : p[0 : TILE])
    CHECK(all_are(w.data(), TILE, 8));
    auto owner = std::make_unique<double[]>(TILE);
    double *q = owner.get();
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 4; round++) {
#pragma omp target nowait depend(inout : q[0]) map(tofrom : q[0 : TILE])
        for (int i = 0; i < TILE; i++)
            q[i] += 1;
    }
    CHECK(all_are(q, TILE, 4));
}

double throws(double *x, int round)
{
#pragma omp target map(tofrom : x[0 : TILE])
    x[0] += 1;
    if (round % 2)
        throw std::runtime_error("odd");
#pragma omp target map(tofrom : x[0 : TILE])
    x[0] += 1;
    return x[0];
}

void exceptions()
{
    std::vector<double> x(TILE, 0.0);
    int caught = 0;
    for (int round = 0; round < 4; round++)
        try {
            throws(x.data(), round);
        } catch (const std::runtime_error &) {
            caught++;
        }
    CHECK(caught == 2 && x[0] == 6);
    double *p = x.data();
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < 4; t++) {
#pragma omp task depend(inout : p[0])
        try {
            throws(p, 1);
        } catch (const std::runtime_error &) {
            p[1] += 1;
        }
#pragma omp target nowait depend(inout : p[0]) map(tofrom : p[0 : TILE])
        p[0] *= 2;
    }
    CHECK(x[0] == 6 * 16 + 30 && x[1] == 4);
}

} // namespace

int main()
{
    members();
    this_pointer();
    virtual_functions();
    containers();
    exceptions();
    return check_result();
}
