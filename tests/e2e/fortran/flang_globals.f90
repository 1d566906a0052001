! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! `declare target`: module variables, which each device has its own of, and procedures; so one device is used.
!
! stats: stats.tasks == 3
! stats: stats.host_tasks == 0
! stats: sum(d.tasks > 0 for d in devices) <= 1
module globals
  use checks
  implicit none
  real(8) :: table(tile) = 3
  integer :: calls = 0
  !$omp declare target(table, calls)
contains
  real(8) function twice(x)
    !$omp declare target
    real(8), intent(in) :: x
    twice = 2 * x
  end function
end module

program flang_globals
  use globals
  implicit none
  real(8), allocatable :: a(:)
  integer :: i, round
  allocate(a(tile))
  a = 1
  do round = 1, 3
    !$omp target map(tofrom: a)
    do i = 1, tile
      a(i) = twice(a(i)) + table(i)
    end do
    table(1) = 0
    calls = calls + 1
    !$omp end target
  end do
  call check(calls == 0, 'the host has its own')
  !$omp target update from(table, calls)
  call check(calls == 3 .and. table(1) == 0 .and. table(2) == 3, 'update from')
  call check(a(1) == 20 .and. all(a(2:) == 29), 'a')
  call finish()
end program
