//! The Python module `tailback._core`: thin wrappers, no logic of their own.

use pyo3::pymodule;

/// The compiled core of Tailback.
#[pymodule]
mod _core {
    use pyo3::pyfunction;

    /// The version of the compiled core, as in `Cargo.toml`.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
