//! What `open` and `inspect` say of real archives of every format.

use blockmill_archive::{Archive, ChunkLimit, Error, Format, Packed, Want, inspect};

#[blockmill_testkit::needs(fixtures)]
#[test]
fn era1_files_are_ordered_and_name_their_network() {
    let folder = blockmill_testkit::fixture("ethereum/era1");
    let second = folder.join("mainnet-00001-a5364e9a.era1");
    let first = folder.join("mainnet-00000-5ec1ffb8.era1");
    let archive = Archive::open(&[second.clone(), first.clone()]).unwrap();
    assert_eq!(archive.format(), Format::Era1);
    assert_eq!(archive.files(), [first, second]);
    assert_eq!(archive.range(), Some((0, Some(16_383))));
    assert_eq!(archive.network_hint(), Some("mainnet"));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn files_of_two_networks_do_not_make_one_archive() {
    let folder = blockmill_testkit::fixture("ethereum/era1");
    let error = Archive::open(&[folder]).unwrap_err();
    assert!(matches!(error, Error::Mixed { .. }), "{error}");
    assert!(error.to_string().contains("sepolia"), "{error}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn ancient_folders_open_with_and_without_the_chain_level() {
    for path in ["geth-1.9", "geth-1.17", "geth-1.17/chain"] {
        let folder = blockmill_testkit::fixture("ethereum/freezer").join(path);
        let archive = Archive::open(&[folder]).unwrap();
        assert_eq!(archive.format(), Format::Freezer);
        assert_eq!(archive.range(), Some((0, Some(16_383))), "{path}");
        let range = 100..=9_999;
        let mut reader = archive.reader(Want::default(), ChunkLimit::default(), range).unwrap();
        let (mut packed, mut blocks) = (Packed::new(), 0);
        while reader.read(&mut packed).unwrap() {
            blocks += packed.blocks();
        }
        assert_eq!(blocks, 9_900);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_folder_of_era1_files_of_two_networks_has_no_gaps() {
    let folder = blockmill_testkit::fixture("ethereum/era1");
    let inspection = inspect(&[folder], false).unwrap();
    assert!(inspection.is_sound(), "{inspection:?}");
    let found: Vec<_> =
        inspection.files.iter().map(|f| (f.network.as_deref(), f.first, f.last)).collect();
    let expected = [
        (Some("mainnet"), Some(0), Some(8_191)),
        (Some("mainnet"), Some(8_192), Some(16_383)),
        (Some("sepolia"), Some(0), Some(8_191)),
    ];
    assert_eq!(found, expected);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_copy_of_an_era1_file_is_skipped_with_a_note() {
    let file = blockmill_testkit::fixture("ethereum/era1/mainnet-00000-5ec1ffb8.era1");
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("mainnet-00000-5ec1ffb8 (copy).era1");
    std::fs::copy(&file, &copy).unwrap();
    let paths = [file, copy.clone()];
    let read = || {
        let archive = Archive::open(&paths).unwrap();
        let limit = ChunkLimit::default();
        let mut reader = archive.reader(Want::default(), limit, 0..=u64::MAX).unwrap();
        let (mut packed, mut blocks) = (Packed::new(), 0);
        while reader.read(&mut packed)? {
            blocks += packed.blocks();
        }
        Ok::<_, Error>((blocks, reader.note()))
    };
    let (blocks, note) = read().unwrap();
    assert_eq!(blocks, 8_192);
    assert!(note.unwrap().contains("came again"));
    assert!(inspect(&paths, false).unwrap().is_sound());
    // one that differs is no copy
    let mut bytes = std::fs::read(&copy).unwrap();
    let last = bytes.len() - 1;
    bytes[last / 2] ^= 1;
    std::fs::write(&copy, bytes).unwrap();
    assert!(matches!(read(), Err(Error::Gap { .. })));
}
