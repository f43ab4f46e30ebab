//! Which geom pairs are tested for contact, and how their parameters mix (MJCF's rules).

use super::{CollisionPair, Geom, Model, ModelBuilder, PairFriction, Softness};
use crate::error::{Error, Result};
use std::collections::HashSet;

/// More pairs than this cannot be tested at every step; the list alone would fill the memory.
const PAIR_LIMIT: usize = 1_000_000;

/// What every body is welded to: the nearest body towards the root that has joints, itself included, or the world; shape \[body\].
pub(super) fn welds(m: &Model) -> Vec<usize> {
    let mut jointed = vec![false; m.bodies.len()];
    for joint in &m.joints {
        jointed[joint.body] = true;
    }
    let mut weld = vec![0; m.bodies.len()];
    for b in 1..m.bodies.len() {
        weld[b] = if jointed[b] { b } else { weld[m.bodies[b].parent] };
    }
    weld
}

/// Fills `model.pairs`: explicit pairs first, then every pair that the contact bits allow.
///
/// Left out of both: geoms of one body or of bodies welded together (so also everything that cannot move), since no impulse between them moves anything. Of the others: a body and its
/// parent, unless the parent cannot move or `parent_contacts` is set; excluded body pairs; planes and height fields among themselves.
pub(super) fn fill(builder: &mut ModelBuilder) -> Result<()> {
    let m = &builder.model;
    let weld = welds(m);
    let mut pairs = Vec::new();
    for pair in &builder.explicit_pairs {
        let (a, b) = (pair.geom_a, pair.geom_b);
        if a >= m.geoms.len() || b >= m.geoms.len() || a == b {
            return Err(Error::model(format!("contact pair ({a}, {b})"), "needs two different geoms that exist"));
        }
        if weld[m.geoms[a].body] == weld[m.geoms[b].body] {
            continue;
        }
        let mut pair = pair.clone();
        if m.geoms[a].shape.rank() > m.geoms[b].shape.rank() {
            (pair.geom_a, pair.geom_b) = (b, a);
            pair.friction = match pair.friction {
                PairFriction::First => PairFriction::Second,
                PairFriction::Second => PairFriction::First,
                other => other,
            };
        }
        if m.geoms[a].shape.is_ground() && m.geoms[b].shape.is_ground() {
            let message = "planes and height fields cannot touch each other";
            return Err(Error::model(format!("contact pair ({a}, {b})"), message));
        }
        pairs.push(pair);
    }
    let excluded: HashSet<(usize, usize)> = builder.excluded.iter().copied().collect();
    // in either order: the two may be of one kind
    let either = |p: &CollisionPair| [(p.geom_a, p.geom_b), (p.geom_b, p.geom_a)];
    let explicit: HashSet<(usize, usize)> = pairs.iter().flat_map(either).collect();
    for i in 0..m.geoms.len() {
        for j in i + 1..m.geoms.len() {
            let (a, b) = if m.geoms[i].shape.rank() <= m.geoms[j].shape.rank() { (i, j) } else { (j, i) };
            let (ga, gb) = (&m.geoms[a], &m.geoms[b]);
            let (wa, wb) = (weld[ga.body], weld[gb.body]);
            let related = wa != 0
                && wb != 0
                && (wa == weld[m.bodies[wb].parent] || wb == weld[m.bodies[wa].parent])
                && !builder.parent_contacts;
            let excluded = excluded.contains(&(ga.body, gb.body)) || excluded.contains(&(gb.body, ga.body));
            let allowed = ga.contype & gb.conaffinity != 0 || gb.contype & ga.conaffinity != 0;
            if wa == wb || related || excluded || !allowed || gb.shape.is_ground() || explicit.contains(&(a, b)) {
                continue;
            }
            if pairs.len() == PAIR_LIMIT {
                return Err(Error::model(
                    "contact pairs",
                    format!(
                        "more than {PAIR_LIMIT} pairs of geoms may touch; rule some out by contype and conaffinity"
                    ),
                ));
            }
            pairs.push(mix(a, b, ga, gb));
        }
    }
    builder.model.pairs = pairs;
    Ok(())
}

/// The higher priority decides; at equal priority the larger friction (sliding, torsional and rolling), condim and restitution, and the mean softness. Margins add up.
pub(super) fn mix(a: usize, b: usize, ga: &Geom, gb: &Geom) -> CollisionPair {
    let (friction, condim, restitution, softness) = match ga.priority.cmp(&gb.priority) {
        std::cmp::Ordering::Greater => (PairFriction::First, ga.condim, ga.restitution, ga.softness),
        std::cmp::Ordering::Less => (PairFriction::Second, gb.condim, gb.restitution, gb.softness),
        std::cmp::Ordering::Equal => {
            let restitution = match (ga.restitution, gb.restitution) {
                (Some(x), Some(y)) => Some(x.max(y)),
                (x, y) => x.or(y),
            };
            let softness = Softness::mix(&ga.softness, &gb.softness, [ga.softness_weight, gb.softness_weight]);
            (PairFriction::Larger, ga.condim.max(gb.condim), restitution, softness)
        }
    };
    let ellipsoid = match (friction, ga.ellipsoid, gb.ellipsoid) {
        (PairFriction::First, ellipsoid, _) | (PairFriction::Second, _, ellipsoid) => ellipsoid,
        (_, Some(a), Some(b)) => Some(std::array::from_fn(|k| f64::max(a[k], b[k]))),
        (_, a, b) => a.or(b),
    };
    let [_, torsion, rolling] = match friction {
        PairFriction::First => ga.friction,
        PairFriction::Second => gb.friction,
        _ => std::array::from_fn(|k| ga.friction[k].max(gb.friction[k])),
    };
    CollisionPair {
        geom_a: a,
        geom_b: b,
        friction,
        condim,
        ellipsoid,
        torsion: (condim > 3).then_some(torsion),
        rolling: (condim > 4).then_some([rolling; 2]),
        margin: ga.margin + gb.margin,
        gap: ga.gap + gb.gap,
        restitution,
        softness,
    }
}
