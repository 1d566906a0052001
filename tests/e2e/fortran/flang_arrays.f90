! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Arrays of all kinds in synchronous target regions: allocatable, pointer, explicit and assumed shape, optional, sections,
! scalars; loops of all kinds, a reduction; `target data`, `enter` and `exit data` in subroutines, updates.
!
! memory: 24Ki
! stats: stats.tasks == 4 + 4 + 6 + 6 * 4 + 4 + 7
! stats: stats.host_tasks == 0
! stats: totals.h2d_bytes >= 20 * 8192
module kinds
  use checks
  implicit none
contains
  subroutine explicit_shape(a, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    integer :: i
    !$omp target map(tofrom: a)
    do i = 1, n
      a(i) = a(i) + 1
    end do
    !$omp end target
  end subroutine

  subroutine assumed_shape(a)
    real(8), intent(inout) :: a(0:)
    integer :: i
    !$omp target
    do i = 0, size(a) - 1
      a(i) = a(i) + i
    end do
    !$omp end target
  end subroutine

  subroutine columns(a)
    real(8), contiguous, intent(inout) :: a(:, :)
    integer :: i, j
    !$omp target teams distribute parallel do collapse(2) map(tofrom: a)
    do j = 1, size(a, 2)
      do i = 1, size(a, 1)
        a(i, j) = a(i, j) + 100 * j
      end do
    end do
  end subroutine

  subroutine maybe(n, a)
    integer, intent(inout) :: n
    real(8), optional :: a(:)
    logical :: there
    there = present(a)
    !$omp target map(tofrom: a, n)
    if (there) n = n + size(a)
    n = n + 1
    !$omp end target
  end subroutine

  subroutine enter(a)
    real(8), intent(in) :: a(:)
    !$omp target enter data map(to: a)
  end subroutine

  subroutine leave(a)
    real(8), intent(inout) :: a(:)
    !$omp target exit data map(from: a)
  end subroutine
end module

program flang_arrays
  use kinds
  implicit none
  call dummies()
  call loops()
  call parts()
  call region()
  call entered()
  call scattered()
  call finish()
contains
  subroutine dummies()
    real(8), allocatable :: a(:), m(:, :)
    integer :: i, j, n
    allocate(a(tile), m(32, 32))
    a = 0
    m = 0
    call explicit_shape(a, tile)
    call assumed_shape(a)
    call columns(m(:, 3:6))
    call check(all(a == [(i, i = 1, tile)]), 'dummies: a')
    call check(all(m(:, :2) == 0) .and. all(m(:, 7:) == 0), 'dummies: other columns')
    call check(all([((m(i, j + 2) == 100 * j, i = 1, 32), j = 1, 4)]), 'dummies: columns')
    n = 0
    call maybe(n, a)
    call check(n == tile + 1, 'dummies: present')
  end subroutine

  subroutine loops()
    real(8), allocatable :: a(:), b(:)
    real(8) :: total
    integer :: i, n
    integer(8) :: k
    n = 0
    call maybe(n)
    call check(n == 1, 'loops: absent')
    allocate(a(tile), b(tile))
    b = 2
    !$omp target parallel do map(from: a) map(to: b)
    do k = 1, tile
      a(k) = b(k) * k
    end do
    call check(all(a == [(2 * i, i = 1, tile)]), 'loops: parallel do')
    !$omp target teams distribute parallel do simd
    do i = 1, tile
      a(i) = a(i) - b(i) * i
    end do
    call check(all(a == 0), 'loops: simd')
    total = 5
    !$omp target teams distribute parallel do reduction(+: total) map(tofrom: total)
    do i = 1, tile
      total = total + b(i) + a(i)
    end do
    call check(total == 5 + 2 * tile, 'loops: reduction')
  end subroutine

  subroutine parts()
    real(8), allocatable, target :: a(:), none(:), scalar
    real(8), pointer :: p(:), here
    integer :: i, n
    allocate(a(-9:tile - 10), scalar)
    a = 1
    scalar = 7
    n = 0
    !$omp target map(tofrom: a(1:10))
    do i = 1, 10
      a(i) = i
    end do
    !$omp end target
    call check(all(a(1:10) == [(i, i = 1, 10)]) .and. all(a(:0) == 1) .and. all(a(11:) == 1), 'parts: section')
    p => a(11:20)
    !$omp target map(tofrom: p)
    do i = 1, size(p)
      p(i) = -i
    end do
    !$omp end target
    call check(all(a(11:20) == [(-i, i = 1, 10)]) .and. associated(p, a(11:20)), 'parts: pointer')
    here => a(5)
    !$omp target map(tofrom: here)
    here = here + 0.5d0
    !$omp end target
    call check(a(5) == 5.5d0, 'parts: pointer to a scalar')
    !$omp target map(tofrom: scalar)
    scalar = 2 * scalar
    !$omp end target
    call check(scalar == 14, 'parts: allocatable scalar')
    !$omp target map(tofrom: none, n)
    if (allocated(none)) n = 1
    !$omp end target
    call check(n == 0 .and. .not. allocated(none), 'parts: nothing allocated')
    !$omp target map(tofrom: n) if(n == 0)
    n = ubound(a, 1)
    !$omp end target
    call check(n == tile - 10, 'parts: bounds')
  end subroutine

  ! Six arrays, of which tight memory holds three: each is computed on with its neighbour, four times.
  subroutine region()
    real(8), allocatable :: a(:), b(:), c(:), d(:), e(:), f(:)
    real(8) :: x(6)
    integer :: i, round
    allocate(a(tile), b(tile), c(tile), d(tile), e(tile), f(tile))
    a = 1; b = 2; c = 3; d = 4; e = 5; f = 6
    x = [(i, i = 1, 6)]
    !$omp target data map(tofrom: a, b, c, d, e) map(tofrom: f)
    do round = 1, 4
      call add(a, b)
      call add(b, c)
      call add(c, d)
      call add(d, e)
      call add(e, f)
      call add(f, a)
      do i = 1, 6
        x(i) = x(i) + x(mod(i, 6) + 1)
      end do
    end do
    !$omp target update from(c)
    call check(all(c == x(3)), 'region: update')
    !$omp end target data
    call check(all(a == x(1)) .and. all(b == x(2)) .and. all(c == x(3)), 'region: first')
    call check(all(d == x(4)) .and. all(e == x(5)) .and. all(f == x(6)), 'region: second')
  end subroutine

  subroutine add(a, b)
    real(8), intent(inout) :: a(:)
    real(8), intent(in) :: b(:)
    integer :: i
    !$omp target map(tofrom: a) map(to: b)
    do i = 1, size(a)
      a(i) = a(i) + b(i)
    end do
    !$omp end target
  end subroutine

  subroutine entered()
    real(8), allocatable :: a(:), b(:)
    integer :: i
    allocate(a(tile), b(tile))
    a = 1
    b = 10
    call enter(a)
    !$omp target enter data map(to: b)
    call add(a, b)
    call explicit_shape(a, tile)
    b(1:100) = 20
    !$omp target update to(b(1:100))
    call add(a, b)
    !$omp target update from(a(1:2))
    call check(all(a(1:2) == 32), 'entered: update from')
    call assumed_shape(a)
    call leave(a)
    !$omp target exit data map(delete: b)
    call check(all(a == [(31 + i, i = 1, 100), (21 + i, i = 101, tile)]), 'entered: a')
  end subroutine

  ! Sections of which flang 22 maps fewer bytes than they span, or others, the whole array being present.
  subroutine scattered()
    real(8), allocatable :: a(:), m(:, :), c(:, :, :)
    integer :: i, j, k
    allocate(a(tile), m(32, 32), c(4, 16, 16))
    a = 1
    m = 1
    c = 1
    !$omp target data map(tofrom: a, m, c)
    call assumed_shape(a(1:tile:2))
    call assumed_shape(a(2:tile:2))
    !$omp target map(tofrom: m(3:4, :))
    do i = 1, 32
      m(3:4, i) = i
    end do
    !$omp end target
    do k = 2, 3
      do j = 4, 6, 2
        !$omp target map(tofrom: c(:, j, k))
        do i = 1, 4
          c(i, j, k) = c(i, j, k) + 100 * i + 10 * j + k
        end do
        !$omp end target
      end do
    end do
    !$omp end target data
    call check(all(a(::2) == [(i, i = 1, tile / 2)]) .and. all(a(2::2) == a(::2)), 'scattered: strides')
    call check(all(m(3, :) == [(i, i = 1, 32)]) .and. all(m(4, :) == m(3, :)), 'scattered: rows')
    call check(all(m(:2, :) == 1) .and. all(m(5:, :) == 1), 'scattered: other rows')
    call check(all(c(:, 6, 3) == [(64 + 100 * i, i = 1, 4)]) .and. all(c(:, 4, 3) == c(:, 6, 3) - 20) .and. &
               all(c(:, 4, 2) == c(:, 6, 2) - 20) .and. c(1, 4, 2) == 143, 'scattered: single subscripts')
    call check(all(c(:, 5, :) == 1) .and. all(c(:, :, 4:) == 1), 'scattered: the rest')
  end subroutine
end program
