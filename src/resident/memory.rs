//! What a world remembers on the device, and as snapshots and the CPU have it.

use super::layout::{Layout, MEMORY_LEN};
use crate::step::{FRICTION, Identity, Remembered, TORSION};

impl Layout {
    /// What a world remembers, from its numbers.
    pub fn remembered(&self, number: &dyn Fn(usize) -> f32) -> Vec<Remembered> {
        let mut all = Vec::new();
        for c in 0..number(self.memory()) as usize {
            let at = self.memory() + 1 + self.memory_len() * c;
            let (pair, impulse) = (number(at) as u32, [2, 3, 4].map(|k| f64::from(number(at + k))));
            if number(at + 1) >= 0.0 {
                all.push((Identity::Contact(pair, number(at + 1) as u32).key(), impulse));
                continue;
            }
            let mut put = |what: u32, x: [f64; 3]| all.push((Identity::Patch(pair, what).key(), x));
            put(FRICTION, impulse);
            put(TORSION, [f64::from(number(at + MEMORY_LEN + 8)), 0.0, 0.0]);
            for k in at + MEMORY_LEN..at + MEMORY_LEN + 4 {
                let pressure = f64::from(number(k + 4));
                if pressure != 0.0 {
                    put(number(k) as u32, [pressure, 0.0, 0.0]);
                }
            }
        }
        for s in 0..self.scalar_rows() {
            let key = match s.checked_sub(self.joint_rows) {
                None => Identity::JointRow(s as u32),
                Some(row) => Identity::Equality(row as u32),
            };
            all.push((key.key(), [f64::from(number(self.scalar_memory() + s)), 0.0, 0.0]));
        }
        all
    }

    /// The numbers of what a world remembers. Contacts that there is no room for are forgotten: they are a first guess only.
    pub fn remember(&self, all: &[Remembered], mut put: impl FnMut(usize, f32)) {
        let (mut contacts, mut vertices) = (0, 4);
        for (key, impulse) in all {
            let at = self.memory() + 1 + self.memory_len() * contacts;
            match Identity::of(*key) {
                Identity::Contact(pair, feature) if contacts < self.capacity => {
                    put(at, pair as f32);
                    put(at + 1, feature as f32);
                    (0..3).for_each(|k| put(at + 2 + k, impulse[k] as f32));
                    contacts += 1;
                }
                // friction comes first, then torsion and vertices
                Identity::Patch(pair, FRICTION) if self.patches => {
                    vertices = 4;
                    if contacts < self.capacity {
                        put(at, pair as f32);
                        put(at + 1, -1.0);
                        (0..3).for_each(|k| put(at + 2 + k, impulse[k] as f32));
                        (0..9).for_each(|k| put(at + MEMORY_LEN + k, 0.0));
                        contacts += 1;
                        vertices = 0;
                    }
                }
                Identity::Patch(_, what) if vertices < 4 => {
                    let own = at - self.memory_len() + MEMORY_LEN;
                    if what == TORSION {
                        put(own + 8, impulse[0] as f32);
                    } else {
                        put(own + vertices, what as f32);
                        put(own + 4 + vertices, impulse[0] as f32);
                        vertices += 1;
                    }
                }
                Identity::JointRow(row) if (row as usize) < self.joint_rows => {
                    put(self.scalar_memory() + row as usize, impulse[0] as f32);
                }
                Identity::Equality(row) if (row as usize) < self.equality_rows => {
                    put(self.scalar_memory() + self.joint_rows + row as usize, impulse[0] as f32);
                }
                _ => {}
            }
        }
        put(self.memory(), contacts as f32);
    }
}
