//! Height field assets: heights from a file (PNG, or MuJoCo's own), inline, or all zero.

use super::Reader;
use super::xml::Element;
use crate::error::Result;
use crate::model::HeightField;
use std::collections::HashMap;
use std::sync::Arc;

/// Height fields by name: declared, and read when a geom first needs them.
#[derive(Debug, Default)]
pub(super) struct HeightFields {
    declared: HashMap<String, Element>,
    ready: HashMap<String, Arc<HeightField>>,
}

/// Numbers as they stand in a file, rows from low y to high y.
struct Grid {
    rows: usize,
    columns: usize,
    numbers: Vec<f64>,
}

impl Reader {
    /// Makes the name of a height field known.
    pub fn declare_height_field(&mut self, e: &Element) -> Result<()> {
        let name = e.asset_name()?;
        match self.height_fields.declared.insert(name.clone(), e.clone()) {
            Some(earlier) => Err(earlier.error(format!("there are two height fields called \"{name}\"; rename one"))),
            None => Ok(()),
        }
    }

    /// The height field called `name`, for the geom `user`.
    pub fn height_field(&mut self, user: &Element, name: &str) -> Result<Arc<HeightField>> {
        if let Some(field) = self.height_fields.ready.get(name) {
            return Ok(field.clone());
        }
        let e = self.height_fields.declared.get(name);
        let missing = || user.error(format!("there is no height field called \"{name}\"; declare it in <asset>"));
        let field = Arc::new(self.make_height_field(e.ok_or_else(missing)?, name)?);
        self.height_fields.ready.insert(name.into(), field.clone());
        Ok(field)
    }

    fn make_height_field(&self, e: &Element, name: &str) -> Result<HeightField> {
        let size = e.numbers::<4>("size")?.filter(|size| size.iter().all(|x| *x > 0.0 && x.is_finite()));
        let [x, y, top, base] = size.ok_or_else(|| {
            e.error("needs four positive numbers in \"size\": half of its lengths along x and y, its height, and how thick it is below")
        })?;
        let mut grid = self.grid(e)?;
        if grid.rows < 2 || grid.columns < 2 {
            return Err(e.error("needs at least two rows and two columns: \"nrow\" and \"ncol\", or a file"));
        }
        // From 0 to its height, whatever the numbers are.
        let least = grid.numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let most = grid.numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(least.is_finite() && most.is_finite()) {
            return Err(e.error("has a height that is not finite"));
        }
        let scale = if most > least { top / (most - least) } else { 0.0 };
        grid.numbers.iter_mut().for_each(|height| *height = (*height - least) * scale);
        let Grid { rows, columns, numbers: heights } = grid;
        Ok(HeightField { name: name.into(), rows, columns, half: [x, y], heights, base })
    }

    fn grid(&self, e: &Element) -> Result<Grid> {
        if let Some(file) = e.attribute("file") {
            let (path, bytes) = self.asset_file(e, file)?;
            let is_png = e.attribute("content_type").map_or_else(
                || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png")),
                |kind| kind.trim() == "image/png",
            );
            let read = if is_png { read_png(&bytes) } else { read_custom(&bytes) };
            return read.map_err(|message| e.error(format!("{}: {message}", path.display())));
        }
        let count = |name: &str| Ok(e.integer(name)?.map_or(0, |count| count.max(0) as usize));
        let (rows, columns) = (count("nrow")?, count("ncol")?);
        let wanted = rows.checked_mul(columns).filter(|count| *count <= HeightField::MOST_POINTS);
        let Some(wanted) = wanted else { return Err(e.error(too_many(rows, columns))) };
        let mut numbers = e.list("elevation")?.unwrap_or_else(|| vec![0.0; wanted]);
        if numbers.len() != wanted {
            let found = numbers.len();
            return Err(e.error(format!("\"elevation\" has {found} numbers, needs {wanted} (nrow × ncol)")));
        }
        upside_down(&mut numbers, columns);
        Ok(Grid { rows, columns, numbers })
    }
}

fn too_many(rows: usize, columns: usize) -> String {
    let most = HeightField::MOST_POINTS;
    format!("has {rows} × {columns} points, more than {most}; use fewer rows and columns")
}

/// Pictures, and numbers that stand in a file, have their first row at the far side.
fn upside_down(numbers: &mut [f64], columns: usize) {
    let mut rows: Vec<&mut [f64]> = numbers.chunks_mut(columns.max(1)).collect();
    let half = rows.len() / 2;
    let (upper, lower) = rows.split_at_mut(half);
    for (a, b) in upper.iter_mut().zip(lower.iter_mut().rev()) {
        a.swap_with_slice(b);
    }
}

/// The grey of every pixel: of what has colours its first, as in MuJoCo.
fn read_png(bytes: &[u8]) -> std::result::Result<Grid, String> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let (columns, rows) = (reader.info().width as usize, reader.info().height as usize);
    if rows.checked_mul(columns).is_none_or(|count| count > HeightField::MOST_POINTS) {
        return Err(too_many(rows, columns));
    }
    let mut pixels = vec![0; reader.output_buffer_size().ok_or("is too large")?];
    let frame = reader.next_frame(&mut pixels).map_err(|error| error.to_string())?;
    let samples = frame.color_type.samples();
    let mut numbers = Vec::with_capacity(rows * columns);
    for line in pixels.chunks_exact(frame.line_size).take(rows) {
        numbers.extend(line.chunks_exact(samples).take(columns).map(|pixel| f64::from(pixel[0])));
    }
    upside_down(&mut numbers, columns);
    Ok(Grid { rows, columns, numbers })
}

/// MuJoCo's own format: the numbers of rows and columns, and the heights, all of four bytes, little-endian, rows from low y to high y.
fn read_custom(bytes: &[u8]) -> std::result::Result<Grid, String> {
    let broken = || {
        "is neither a PNG nor as long as MuJoCo's own format says (rows, columns, then rows × columns heights)"
            .to_owned()
    };
    let (words, []) = bytes.as_chunks::<4>() else { return Err(broken()) };
    let Some((counts, heights)) = words.split_first_chunk::<2>() else { return Err(broken()) };
    let [rows, columns] = counts.map(|count| u32::from_le_bytes(count) as usize);
    if rows.checked_mul(columns) != Some(heights.len()) {
        return Err(broken());
    }
    if heights.len() > HeightField::MOST_POINTS {
        return Err(too_many(rows, columns));
    }
    let numbers = heights.iter().map(|height| f64::from(f32::from_le_bytes(*height))).collect();
    Ok(Grid { rows, columns, numbers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_change_places_whether_their_number_is_odd_or_even() {
        let mut two = vec![1.0, 2.0, 3.0, 4.0];
        upside_down(&mut two, 2);
        assert_eq!(two, [3.0, 4.0, 1.0, 2.0]);
        let mut three = vec![1.0, 2.0, 3.0];
        upside_down(&mut three, 1);
        assert_eq!(three, [3.0, 2.0, 1.0]);
    }

    #[test]
    fn files_that_are_not_what_they_say_are_refused() {
        let field = |rows: u32, columns: u32, heights: &[f32]| -> Vec<u8> {
            let counts = [rows, columns].map(u32::to_le_bytes);
            counts.into_iter().chain(heights.iter().map(|h| h.to_le_bytes())).flatten().collect()
        };
        let read = read_custom(&field(2, 1, &[0.5, -1.0])).expect("a grid");
        assert_eq!((read.rows, read.columns, read.numbers), (2, 1, vec![0.5, -1.0]));
        assert!(read_custom(&field(2, 2, &[0.5, -1.0])).is_err());
        assert!(read_custom(&field(u32::MAX, u32::MAX, &[0.5])).is_err());
        assert!(read_custom(&[1, 2, 3]).is_err());
        assert!(read_png(b"\x89PNG\r\n\x1a\nno more").is_err());
    }
}
