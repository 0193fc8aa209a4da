//! Protocol configurations: magic, committee, hardforks, settings.
