//! Files at URLs for the package's own Python code, which lists and hashes them.

use blockmill_platform::files::{self, FileKind};
use blockmill_platform::input_file::InputFile;
use blockmill_remote::{Mounted, Options, mount};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io;
use std::path::PathBuf;

/// An open file.
#[pyclass]
pub struct RemoteFile {
    file: InputFile,
    at: u64,
    _mounted: Mounted,
}

#[pymethods]
impl RemoteFile {
    #[new]
    fn new(py: Python<'_>, url: PathBuf) -> PyResult<Self> {
        let open = || -> io::Result<Self> {
            let _mounted = mount(std::slice::from_ref(&url), &Options::default())?;
            Ok(Self { file: InputFile::open(&url)?, at: 0, _mounted })
        };
        Ok(py.detach(open)?)
    }

    /// Its length in bytes.
    #[getter]
    fn size(&self) -> PyResult<u64> {
        Ok(self.file.length()?)
    }

    /// Reads the next bytes; none at the end.
    fn read<'py>(&mut self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyBytes>> {
        let (mut bytes, file, at) = (vec![0; most], &self.file, self.at);
        let count = py.detach(|| file.read_full_at(&mut bytes, at))?;
        self.at += count as u64;
        Ok(PyBytes::new(py, &bytes[..count]))
    }
}

/// The URLs and lengths of the files at a URL: of a folder, those in it.
#[pyfunction]
pub fn remote_files(py: Python<'_>, url: PathBuf) -> PyResult<Vec<(String, u64)>> {
    let list = || -> io::Result<Vec<(String, u64)>> {
        let _mounted = mount(std::slice::from_ref(&url), &Options::default())?;
        let mut found = vec![];
        let all = match files::kind(&url)? {
            FileKind::Folder => files::list(&url)?,
            _ => vec![url.clone()],
        };
        for path in all {
            if files::is_file(&path)? {
                let length = files::length(&path)?;
                // a path of Python would lose a slash of a URL
                found.push((path.display().to_string(), length));
            }
        }
        Ok(found)
    };
    Ok(py.detach(list)?)
}
