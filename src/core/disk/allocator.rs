//! The setting of the system's allocator for programs that run for long.

/// Limits the allocator to as many pools as there are cores; returns whether the system does that.
///
/// The allocator of glibc has a pool for nearly every thread, and memory that is freed in one is not
/// used by the others: a program with many threads takes twice the memory. Must be called before
/// threads are started.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn share_pools() -> bool {
    let most =
        libc::c_int::try_from(crate::core::disk::parallel::all_cores()).unwrap_or(libc::c_int::MAX);
    // Sound: it is a number that the allocator reads, and may be set at any time.
    #[allow(unsafe_code)]
    let is_taken = unsafe { libc::mallopt(libc::M_ARENA_MAX, most) };
    is_taken == 1
}

/// Does nothing: other allocators share by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn share_pools() -> bool {
    false
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn the_allocator_takes_the_number_of_pools() {
        assert!(super::share_pools());
    }
}
