//! Remote archives: one archive verified through a server on this machine, compared with the same
//! files read from the disk. The server is nginx, which the machine must have.

use super::Workload;
use super::import::{self, PATHS, ethereum as archives};
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, setting};
use anyhow::{Context, Result, bail, ensure};
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::import::import;
use blockmill_ethereum::record;
use blockmill_ethereum::settings::Settings as EthereumSettings;
use blockmill_pipeline::RunClock;
use blockmill_pipeline::record::RunRecord;
use blockmill_platform::files;
use blockmill_remote::{Options, mount};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The option that says where the files are: [`DISK`] or [`HTTP`].
const OPTION: &str = "files";
const DISK: &str = "disk";
const HTTP: &str = "http";
/// The place of nginx in Debian, where users do not have it among their commands.
const DEBIAN: &str = "/usr/sbin/nginx";
/// The longest time in which the server starts.
const START: Duration = Duration::from_secs(10);

/// Remote archives.
pub struct Remote;

impl Workload for Remote {
    fn name(&self) -> &'static str {
        "remote"
    }

    fn options(&self, settings: &Settings) -> Result<Vec<OptionValues>> {
        match setting(settings, "chain")? {
            "ethereum" => {}
            other => bail!("chain = '{other}'; available: ethereum"),
        }
        let values = [DISK, HTTP].map(str::to_owned).to_vec();
        let about = "Where the archive is read from".to_owned();
        let (name, default) = (OPTION.into(), HTTP.into());
        let said = ["Reads the file from the disk", "Reads the file from nginx on this machine"];
        let said = said.map(str::to_owned).to_vec();
        let own = OptionValues { name, values, default, about, said };
        let mut all = import::options_of::<EthereumSettings>(&[]);
        all.push(own);
        Ok(all)
    }

    fn prepare(
        &self,
        settings: &mut Settings,
        folder: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        archives::prepare(settings, folder, progress)
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        let (own, with): (Vec<_>, Vec<_>) = job.with.iter().cloned().partition(|with| is_own(with));
        let is_remote = !own.iter().any(|with| with.ends_with(DISK));
        let [file] = &import::paths(&job.settings)?[..] else { bail!("paths: expected one file") };
        let mut job = job.clone();
        let server = is_remote.then(|| Server::start(&job.folder, file)).transpose()?;
        if let Some(server) = &server {
            job.settings.insert(PATHS.into(), server.url.clone());
        }
        let clock = RunClock::start();
        let _mounted = mount(&import::paths(&job.settings)?, &Options::default())?;
        let (archive, options) = archives::opened(&job, &with)?;
        let (run, outcome) = import(&archive, &options, &mut Sink::Discard, |_| {});
        let (wall_s, cpu) = (clock.wall_s(), clock.cpu());
        let this = blockmill_cli::program::this();
        let mut record = record::of(&run, &outcome, &archive, &options, this, &job.label);
        outcome?;
        record.took(wall_s);
        record.take_usage(cpu);
        Ok(record)
    }

    fn inputs(&self, settings: &Settings) -> Vec<PathBuf> {
        import::paths(settings).unwrap_or_default()
    }
}

/// Is it a value of [`OPTION`], and none of the chain's options?
fn is_own(with: &str) -> bool {
    with.split_once('=').is_some_and(|(name, _)| name == OPTION)
}

/// nginx, which serves the folder of a file until this is dropped.
struct Server {
    child: Child,
    /// Of the file.
    url: String,
}

impl Server {
    /// Starts it, with its configuration and its other files in `folder`.
    fn start(folder: &Path, file: &Path) -> Result<Self> {
        let file =
            file.canonicalize().with_context(|| format!("cannot open {}", file.display()))?;
        let (Some(root), Some(name)) = (file.parent(), file.file_name()) else {
            bail!("paths: expected a file, found {}", file.display())
        };
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let folder = folder.canonicalize()?;
        // free a moment later, too, unless another process is as fast
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (root, at) = (root.display(), folder.display());
        let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {at}/{name};\n"))
            .concat();
        let text = format!(
            "daemon off;\nmaster_process off;\npid {at}/nginx.pid;\nerror_log {at}/error.log;\n\
             events {{}}\nhttp {{\n{paths}access_log off;\nsendfile on;\ntcp_nopush on;\n\
             server {{ listen 127.0.0.1:{port}; root \"{root}\"; }}\n}}\n"
        );
        let config = folder.join("nginx.conf");
        fs::write(&config, text).with_context(|| format!("cannot write {}", config.display()))?;
        let is_debian = files::is_file(Path::new(DEBIAN))?;
        let mut command = Command::new(if is_debian { DEBIAN } else { "nginx" });
        command.arg("-c").arg(&config).arg("-p").arg(&folder);
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.context("cannot start nginx (Debian's package is called nginx-light)")?;
        let name = name.to_str().context("paths: expected a name that is text")?;
        let mut server = Self { child, url: format!("http://127.0.0.1:{port}/{name}") };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = server.child.try_wait()?;
            ensure!(ended.is_none(), "nginx ended: see {}", folder.join("error.log").display());
            ensure!(begun.elapsed() < START, "nginx does not listen");
            thread::sleep(Duration::from_millis(5));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // it may have ended already
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
