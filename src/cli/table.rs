//! Tables and numbers for people.

use comfy_table::{CellAlignment, Table, presets};

/// A table under a header.
pub fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header(header).add_rows(rows);
    table
}

/// A table of names and values.
pub fn facts(rows: impl IntoIterator<Item = (&'static str, String)>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.add_rows(rows.into_iter().map(|(name, value)| [name.to_owned(), value]));
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A whole number with its digits in threes.
pub fn grouped(x: u64) -> String {
    let digits = x.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A number to four digits, as short as it reads well.
pub fn short(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        a if (1e-3..1e5).contains(&a) => {
            let decimals = (3 - a.log10().floor() as i32).clamp(0, 6) as usize;
            let text = format!("{x:.decimals$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
        }
        a if a.is_finite() => format!("{x:.2e}"),
        _ => x.to_string(),
    }
}

/// A list of numbers.
pub fn list(numbers: &[f64]) -> String {
    numbers.iter().map(|x| short(*x)).collect::<Vec<_>>().join(" ")
}

/// A share of one as a percentage that says 100 % and 0 % only where it is so.
pub fn percent(share: f64) -> String {
    let text = format!("{:.3}", 100.0 * share);
    match text.as_str() {
        "100.000" if share < 1.0 => "> 99.999 %".into(),
        "0.000" if share > 0.0 => "< 0.001 %".into(),
        _ => format!("{} %", text.trim_end_matches('0').trim_end_matches('.')),
    }
}
