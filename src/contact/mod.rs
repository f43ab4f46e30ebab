//! Where bodies touch: geom pairs → contact points, up to four a pair.

use crate::lane::Real;
use crate::spatial::Vec3;

/// The contacts of a tile of worlds.
///
/// Contacts of one world fill slots 0, 1, 2 … in the order of the model's pairs; a slot holds one contact of every world of the tile that
/// has so many. Entries of lanes beyond their [`Contacts::count`] are zero.
#[derive(Debug, Clone, Default)]
pub struct Contacts<R> {
    /// Number of contacts kept, shape \[lane\].
    pub count: Vec<usize>,
    /// Number of contacts found, kept or not, shape \[lane\].
    pub found: Vec<usize>,
    /// Contact point, half way between the two surfaces, world axes, m, shape \[slot\].
    pub position: Vec<Vec3<R>>,
    /// Unit normal from the first geom of the pair to the second, shape \[slot\].
    pub normal: Vec<Vec3<R>>,
    /// Signed distance along the normal, m, negative = overlap, shape \[slot\].
    pub gap: Vec<R>,
    /// Index of the pair in the model, shape \[slot\]\[lane\].
    pub pair: Vec<u32>,
    /// Which point of the pair this is, stable from step to step, shape \[slot\]\[lane\].
    pub feature: Vec<u32>,
}
