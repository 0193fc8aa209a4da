//! Lets macOS link a library whose symbols the interpreter has.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
