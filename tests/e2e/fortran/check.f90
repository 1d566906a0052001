! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! What every Fortran program here shares; as programs/check.h. Their first comments say the same things to construct.sh.
module checks
  implicit none
  integer, parameter :: tile = 1024 ! reals of 8 bytes: 8 KiB
  logical, private :: right = .true.
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (ok) return
    print '(a)', 'not true: ' // what
    right = .false.
  end subroutine

  subroutine finish()
    if (.not. right) then
      print '(a)', 'WRONG'
      stop 1
    end if
    print '(a)', 'right'
  end subroutine
end module
