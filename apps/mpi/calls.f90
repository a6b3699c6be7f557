! SPDX-License-Identifier: GPL-2.0
! The exam of libonesided.so for programs in Fortran, whose way into MPI is another: calls that the
! library carries, between ranks 0 and 1, and what is in memory afterwards. With the argument
! `request` it makes a call that the library has to refuse. Without the library the first must pass
! as well.
program calls_fortran
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none

  integer, parameter :: values = 64
  integer, asynchronous :: created(values)
  double precision, pointer, asynchronous :: allocated(:)
  type(c_ptr) :: base
  type(MPI_Win) :: whole, real_numbers
  integer :: rank
  character(len=16) :: argument

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  created = 0
  call MPI_Win_create(created, int(values * 4, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, whole)
  call MPI_Win_allocate(int(values * 8, MPI_ADDRESS_KIND), 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, real_numbers)
  call c_f_pointer(base, allocated, [values])
  allocated = 0

  call get_command_argument(1, argument)
  if (argument == 'request') then
    call request()
  else
    call transfers()
    call accumulates()
    if (rank == 0) print '(a)', 'calls_fortran: all of them did what MPI says'
  end if
  call MPI_Win_free(real_numbers)
  call MPI_Win_free(whole)
  call MPI_Finalize()

contains

  subroutine require(true, sentence)
    logical, intent(in) :: true
    character(len=*), intent(in) :: sentence
    if (.not. true) then
      print '(a, i0, 2a)', 'calls_fortran: rank ', rank, ': ', sentence
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
  end subroutine require

  subroutine transfers()
    integer, asynchronous :: sent(4), got(4)
    sent = [1, 2, 3, 4]
    got = 0
    call MPI_Win_fence(0, whole)
    if (rank == 0) call MPI_Put(sent, 4, MPI_INTEGER, 1, 8_MPI_ADDRESS_KIND, 4, MPI_INTEGER, whole)
    call MPI_Win_fence(0, whole)
    if (rank == 0) call MPI_Get(got, 4, MPI_INTEGER, 1, 8_MPI_ADDRESS_KIND, 4, MPI_INTEGER, whole)
    call MPI_Win_fence(0, whole)
    call require(rank /= 0 .or. all(got == sent), 'MPI_Get does not get what MPI_Put put')
    call require(rank /= 1 .or. (all(created(9:12) == [1, 2, 3, 4]) .and. sum(created) == 10), &
                 'MPI_Put changed other memory than it was told')
  end subroutine transfers

  subroutine accumulates()
    double precision, asynchronous :: half, before
    half = 0.5d0
    before = -1
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, real_numbers)
    call MPI_Accumulate(half, 1, MPI_DOUBLE_PRECISION, 1, 3_MPI_ADDRESS_KIND, 1, MPI_DOUBLE_PRECISION, MPI_SUM, &
                        real_numbers)
    call MPI_Win_unlock(1, real_numbers)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, real_numbers)
    call MPI_Fetch_and_op(half, before, MPI_DOUBLE_PRECISION, 1, 3_MPI_ADDRESS_KIND, MPI_NO_OP, real_numbers)
    call MPI_Win_unlock(1, real_numbers)
    call require(abs(before - 1) < 1d-9, 'two ranks added 0.5 to 0, and the sum is not 1')
  end subroutine accumulates

  subroutine request()
    integer, asynchronous :: one
    type(MPI_Request) :: handle
    one = 1
    call MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, whole)
    if (rank == 0) then
      call MPI_Rput(one, 1, MPI_INTEGER, 1, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, whole, handle)
      call MPI_Wait(handle, MPI_STATUS_IGNORE)
    end if
    call MPI_Win_unlock(1, whole)
  end subroutine request

end program calls_fortran
