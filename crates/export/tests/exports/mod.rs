//! Exports of Ethereum archives, as the program makes them.
//!
//! Each test program uses a part of this.
#![allow(dead_code)]

use blockmill_archive::{Archive, ChunkLimit};
use blockmill_ethereum::Level;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::import::{Options, import};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::SealPolicy;
use blockmill_ethereum::settings::Settings;
use blockmill_export::ethereum::{consumer, tables};
use blockmill_export::schema::Form;
use blockmill_export::{Export, Facts, Manifest, Verdict, tables_named};
use blockmill_pipeline::Cancel;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// What is exported, and how.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub level: Level,
    pub tables: &'a [&'a str],
    pub form: Form,
    pub threads: usize,
    pub row_group: usize,
    pub chunk: usize,
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Self {
            level: Level::Bodies,
            tables: &["blocks"],
            form: Form::default(),
            threads: 2,
            row_group: blockmill_export::ROW_GROUP,
            chunk: 256,
        }
    }
}

/// The chain of an archive: that of the genesis.json next to it, or the main network.
fn spec_of(path: &Path) -> ChainSpec {
    match fs::read_to_string(path.with_file_name("genesis.json")) {
        Ok(text) => ChainSpec::from_genesis_json(&text).unwrap(),
        Err(_) => ChainSpec::by_name("mainnet").unwrap(),
    }
}

/// Calls `with` with a decoded header.
pub fn with_header<T>(raw: &[u8], with: impl FnOnce(&HeaderView<'_>) -> T) -> T {
    with(&HeaderView::decode(raw).unwrap())
}

/// Exports into a new folder; the error's text where that does not come to its end.
pub fn export(paths: &[PathBuf], asked: &Asked<'_>) -> Result<TempDir, String> {
    let folder = tempfile::tempdir().unwrap();
    export_to(folder.path(), paths, asked).map(|_| folder)
}

/// Exports into a folder.
pub fn export_to(folder: &Path, paths: &[PathBuf], asked: &Asked<'_>) -> Result<Manifest, String> {
    let archive = Archive::open(paths).unwrap();
    let mut options = Options {
        spec: Arc::new(spec_of(&paths[0])),
        level: asked.level,
        seal: SealPolicy::OFF,
        settings: Settings::default(),
        threads: asked.threads,
        chunk: ChunkLimit { blocks: asked.chunk, ..ChunkLimit::default() },
        from: None,
        until: None,
        partial: false,
        recheck: true,
        trust: vec![],
        caches: Caches::new(None, 1),
        now: None,
        consumer: None,
        cancel: Cancel::new(),
    };
    let names: Vec<String> = asked.tables.iter().map(|name| (*name).to_owned()).collect();
    let tables = tables_named(&tables::ALL, &tables::ALL, &names).unwrap();
    let facts = Facts {
        folder: folder.to_path_buf(),
        form: asked.form,
        chain: options.spec.name.clone(),
        genesis: blockmill_verdict::Hex(&options.spec.genesis.hash).to_string(),
        level: asked.level.name(),
        ..Facts::default()
    };
    let export = Export::with_row_groups(&tables, facts, asked.threads, asked.row_group).unwrap();
    options.consumer = Some(consumer(export.clone(), &tables, archive.format()));
    let (run, outcome) = import(&archive, &options, &mut Sink::Discard, |_| {});
    outcome.map_err(|error| error.to_string())?;
    let files = export.finish().map_err(|error| error.to_string())?;
    let (first, last) = run.range.unwrap();
    let tip = blockmill_verdict::Hex(&run.tip.unwrap().id.hash).to_string();
    let verdict = Verdict { partial: false, first, last, tip, anchor: None };
    let manifest = export.manifest(verdict, files);
    manifest.write(folder, false).map_err(|error| error.to_string())?;
    Ok(manifest)
}

/// The files of a table, in the order of their blocks.
pub fn files_of(folder: &Path, table: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let is_of = |path: &PathBuf| {
        let name = name(path);
        let apart = name.contains(&format!("-{table}-")) || name.contains(&format!("__{table}__"));
        apart && name.ends_with(".parquet")
    };
    let mut files: Vec<_> = entries.filter(is_of).collect();
    files.sort();
    files
}
