// Whether a world has so few rows that `small_sweeps` has swept it.
fn is_small(contacts: u32, scalars: u32) -> bool {
    return SMALL && contacts <= SMALL_CONTACTS && scalars <= SMALL_SCALARS;
}
