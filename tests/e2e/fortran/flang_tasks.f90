! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! A product of matrices of tiles, C = C + A B, in `target nowait depend` tasks: with each task's tiles mapped for it alone, and as
! sections of arrays that have been entered whole.
!
! memory: 48Ki
! stats: stats.tasks == 2 * 4 * 4 * 4
! stats: stats.host_tasks == 0
! stats: totals.h2d_bytes >= 2 * 3 * 16 * 8192
module product
  use checks
  implicit none
  integer, parameter :: nb = 32, nt = 4
contains
  ! One task; its tiles are the caller's, of explicit shape.
  subroutine multiply(a, b, c)
    real(8) :: a(nb, nb), b(nb, nb), c(nb, nb)
    integer :: i, j, k
    !$omp target nowait map(to: a, b) map(tofrom: c) depend(in: a, b) depend(inout: c)
    do j = 1, nb
      do k = 1, nb
        do i = 1, nb
          c(i, j) = c(i, j) + a(i, k) * b(k, j)
        end do
      end do
    end do
    !$omp end target
  end subroutine

  subroutine fill(a, b, c)
    real(8), intent(out) :: a(:, :, :), b(:, :, :), c(:, :, :)
    integer :: i, j, k
    do k = 1, nt * nt
      do j = 1, nb
        do i = 1, nb
          a(i, j, k) = mod(i + 2 * j + 3 * k, 7)
          b(i, j, k) = mod(3 * i + j + k, 5)
        end do
      end do
    end do
    c = 1
  end subroutine

  ! Where the tile (i, j) is.
  integer function at(i, j)
    integer, intent(in) :: i, j
    at = i + nt * (j - 1)
  end function

  logical function is_product(a, b, c)
    real(8), intent(in) :: a(:, :, :), b(:, :, :), c(:, :, :)
    real(8) :: x(nb, nb)
    integer :: i, j, k
    is_product = .true.
    do j = 1, nt
      do i = 1, nt
        x = 1
        do k = 1, nt
          x = x + matmul(a(:, :, at(i, k)), b(:, :, at(k, j)))
        end do
        is_product = is_product .and. all(x == c(:, :, at(i, j)))
      end do
    end do
  end function
end module

program flang_tasks
  use product
  implicit none
  real(8), allocatable :: a(:, :, :), b(:, :, :), c(:, :, :)
  allocate(a(nb, nb, nt * nt), b(nb, nb, nt * nt), c(nb, nb, nt * nt))
  call fill(a, b, c)
  call alone()
  call check(is_product(a, b, c), 'tiles alone')
  call fill(a, b, c)
  call sections()
  call check(is_product(a, b, c), 'sections')
  call finish()
contains
  subroutine alone()
    integer :: i, j, k
    !$omp parallel
    !$omp single
    do k = 1, nt
      do j = 1, nt
        do i = 1, nt
          call multiply(a(:, :, at(i, k)), b(:, :, at(k, j)), c(:, :, at(i, j)))
        end do
      end do
    end do
    !$omp end single
    !$omp end parallel
  end subroutine

  subroutine sections()
    integer :: i, j, k, l, m, n, x, y, z
    !$omp target enter data map(to: a, b, c)
    !$omp parallel private(i, j, k, l, m, n)
    !$omp single
    do k = 1, nt
      do j = 1, nt
        do i = 1, nt
          l = at(i, k)
          m = at(k, j)
          n = at(i, j)
          !$omp target nowait map(to: a(:, :, l), b(:, :, m)) map(tofrom: c(:, :, n)) &
          !$omp   depend(in: a(1, 1, l), b(1, 1, m)) depend(inout: c(1, 1, n))
          do y = 1, nb
            do z = 1, nb
              do x = 1, nb
                c(x, y, n) = c(x, y, n) + a(x, z, l) * b(z, y, m)
              end do
            end do
          end do
          !$omp end target
        end do
      end do
    end do
    !$omp end single
    !$omp end parallel
    !$omp target exit data map(from: c) map(delete: a, b)
  end subroutine
end program
