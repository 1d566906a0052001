! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Derived types with allocatable and pointer components: whole, by component, in each other, in arrays; alone and in regions.
! (All are static: libomptarget 22 keeps for ever what flang's default mappers map.)
!
! memory: 48Ki
! stats: stats.tasks == 3 + 2 + 3 + 3
! stats: stats.host_tasks == 0
! stats: totals.h2d_bytes >= 8 * 8192
program flang_types
  use checks
  implicit none
  type box
    integer :: n = 0
    real(8), allocatable :: v(:)
    real(8) :: fixed(4) = 0
    real(8), pointer :: p(:) => null()
  end type
  type outer
    integer :: k = 0
    type(box) :: inner
  end type
  call alone()
  call nested()
  call region()
  call arrays()
  call finish()
contains
  subroutine make(s, value)
    type(box), intent(inout) :: s
    real(8), intent(in) :: value
    allocate(s%v(tile))
    s%v = value
    s%n = tile
  end subroutine

  subroutine alone()
    type(box), save :: s, t
    real(8), allocatable, target :: x(:)
    integer :: i
    allocate(x(tile))
    x = 3
    call make(s, 1d0)
    s%p => x
    !$omp target map(tofrom: s%v)
    do i = 1, tile
      s%v(i) = s%v(i) + i
    end do
    !$omp end target
    call check(all(s%v == [(1 + i, i = 1, tile)]), 'alone: component')
    !$omp target map(tofrom: s%n, s%v, s%p)
    do i = 1, s%n
      s%v(i) = s%v(i) * s%p(i)
    end do
    s%n = 7
    s%p(2) = 8
    !$omp end target
    call check(all(s%v == [(3 * (1 + i), i = 1, tile)]), 'alone: components')
    call check(s%n == 7 .and. x(1) == 3 .and. x(2) == 8 .and. associated(s%p, x), 'alone: pointer')
    call make(t, 2d0)
    !$omp target map(tofrom: t)
    do i = 1, t%n
      t%v(i) = t%v(i) - i
    end do
    t%fixed(3) = size(t%v)
    !$omp end target
    call check(all(t%v == [(2 - i, i = 1, tile)]) .and. t%fixed(3) == tile .and. t%n == tile, 'alone: whole')
  end subroutine

  subroutine nested()
    type(outer), save :: o
    type(box), allocatable, save :: s
    integer :: i
    call make(o%inner, 5d0)
    o%k = 4
    !$omp target map(tofrom: o%inner%v, o%k)
    do i = 1, tile
      o%inner%v(i) = o%inner%v(i) + o%k
    end do
    o%k = 1
    !$omp end target
    call check(all(o%inner%v == 9) .and. o%k == 1, 'nested: type in type')
    allocate(s)
    call make(s, 6d0)
    !$omp target map(tofrom: s%v)
    do i = 1, tile
      s%v(i) = s%v(i) + i
    end do
    !$omp end target
    call check(all(s%v == [(6 + i, i = 1, tile)]), 'nested: allocatable type')
  end subroutine

  subroutine region()
    type(box), save :: s
    integer :: i
    call make(s, 1d0)
    !$omp target enter data map(to: s, s%v)
    !$omp target map(tofrom: s%v)
    do i = 1, tile
      s%v(i) = s%v(i) + i
    end do
    !$omp end target
    !$omp target map(tofrom: s, s%v)
    do i = 1, s%n
      s%v(i) = 2 * s%v(i)
    end do
    s%fixed(1) = s%v(3)
    !$omp end target
    !$omp target update from(s%v)
    call check(all(s%v == [(2 * (1 + i), i = 1, tile)]), 'region: update')
    !$omp target map(tofrom: s%v)
    s%v(1) = 0
    !$omp end target
    !$omp target exit data map(from: s, s%v)
    call check(s%v(1) == 0 .and. s%v(2) == 6 .and. s%fixed(1) == 8 .and. s%n == tile, 'region: exit')
  end subroutine

  subroutine arrays()
    type(box), allocatable, save :: b(:), c(:), d(:)
    integer :: i, j
    allocate(b(3), c(3), d(3))
    do j = 1, 3
      call make(b(j), real(j, 8))
      call make(c(j), real(j, 8))
      call make(d(j), real(j, 8))
    end do
    !$omp target map(tofrom: b)
    do j = 1, size(b)
      do i = 1, b(j)%n
        b(j)%v(i) = b(j)%v(i) + i
      end do
      b(j)%n = j
    end do
    !$omp end target
    do j = 1, 3
      call check(all(b(j)%v == [(j + i, i = 1, tile)]) .and. b(j)%n == j, 'arrays: all')
    end do
    !$omp target map(tofrom: c(2)%v)
    do i = 1, tile
      c(2)%v(i) = i
    end do
    !$omp end target
    call check(all(c(2)%v == [(i, i = 1, tile)]) .and. all(c(1)%v == 1) .and. all(c(3)%v == 3), 'arrays: element')
    !$omp target enter data map(to: d)
    !$omp target map(tofrom: d)
    do j = 1, size(d)
      do i = 1, d(j)%n
        d(j)%v(i) = d(j)%v(i) - i
      end do
    end do
    !$omp end target
    !$omp target exit data map(from: d)
    do j = 1, 3
      call check(all(d(j)%v == [(j - i, i = 1, tile)]), 'arrays: region')
    end do
  end subroutine
end program
