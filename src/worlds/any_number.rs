//! Numbers of which some may not be finite, for serde: those as text.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Text(String),
}

pub(super) fn serialize<S: Serializer>(numbers: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    let number = |x: &f64| if x.is_finite() { Number::Finite(*x) } else { Number::Text(x.to_string()) };
    serializer.collect_seq(numbers.iter().map(number))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let number = |n| match n {
        Number::Finite(x) => Ok(x),
        Number::Text(text) => text.parse().map_err(|_| D::Error::custom(format!("\"{text}\" is no number"))),
    };
    Vec::<Number>::deserialize(deserializer)?.into_iter().map(number).collect()
}
