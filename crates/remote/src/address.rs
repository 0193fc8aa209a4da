//! A URL: which server, which folder there, which file in it.

use crate::Error;
use object_store::BackoffConfig;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{ClientOptions, HeaderValue, ObjectStore, RetryConfig};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest wait for the next bytes of a server.
const SILENCE: Duration = Duration::from_secs(30);
/// The longest time of a request, which is for a few MiB at most.
const REQUEST: Duration = Duration::from_secs(300);
/// Retries of a request that the server fails to answer, with 0.1 s before the first and twice as
/// much before each other, up to [`LONGEST_WAIT`].
const RETRIES: usize = 6;
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// No retry begins after this time.
const RETRY_TIME: Duration = Duration::from_secs(90);

/// The kind of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `http://` and `https://`.
    Http,
    /// `s3://`: Amazon S3 and what speaks its protocol.
    S3,
    /// `gs://`: Google Cloud Storage.
    Gs,
    /// `az://`: Azure Blob Storage.
    Az,
}

impl Scheme {
    /// Environment variables with credentials for such a server.
    #[must_use]
    pub fn variables(self) -> &'static str {
        match self {
            Self::Http => "nothing: http(s):// URLs are read without any",
            Self::S3 => {
                "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and \
                 AWS_ENDPOINT; AWS_SKIP_SIGNATURE=true reads public buckets"
            }
            Self::Gs => "GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS",
            Self::Az => "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or _SAS_TOKEN",
        }
    }
}

/// A URL that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The kind of the server.
    pub scheme: Scheme,
    /// The URL as it was written, without a slash at its end.
    pub text: String,
    /// Server or bucket: `http://host:port`, or the name of a bucket.
    pub server: String,
    /// Path on the server or in the bucket, without a slash at either end.
    pub key: Key,
    /// Whether a slash ended the URL: it is a folder.
    pub is_folder: bool,
}

impl Address {
    /// Reads a URL.
    ///
    /// # Errors
    /// [`Error::Address`] for what is no URL of a file or folder, or has secrets in it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = |expected, found: String| Error::Address {
            url: without_secrets(text),
            expected,
            found,
        };
        let expected = "a URL of a file or a folder";
        let url = Url::parse(text).map_err(|error| bad(expected, error.to_string()))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad("a URL without ? and #", "one with them".into()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("a URL without a password, which records would show", "one".into()));
        }
        let scheme = match url.scheme() {
            "http" | "https" => Scheme::Http,
            "s3" => Scheme::S3,
            "gs" => Scheme::Gs,
            "az" => Scheme::Az,
            other => return Err(bad("http, https, s3, gs or az", other.into())),
        };
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
            return Err(bad("a URL with a server or a bucket", "none".into()));
        };
        let port = url.port().map_or(String::new(), |port| format!(":{port}"));
        let server = match scheme {
            Scheme::Http => format!("{}://{host}{port}", url.scheme()),
            _ => host.to_owned(),
        };
        let key =
            Key::from_url_path(url.path()).map_err(|error| bad(expected, error.to_string()))?;
        let is_folder = text.ends_with('/') || key.as_ref().is_empty();
        Ok(Self { scheme, text: text.trim_end_matches('/').into(), server, key, is_folder })
    }

    /// The folder of a file.
    #[must_use]
    pub fn parent(&self) -> Self {
        let mut parts: Vec<_> = self.key.parts().collect();
        parts.pop();
        let text = self.text.rsplit_once('/').map_or(&*self.text, |(folder, _)| folder);
        let (text, key) = (text.to_owned(), parts.into_iter().collect());
        Self { text, key, is_folder: true, server: self.server.clone(), ..*self }
    }

    /// Connects with the server; credentials are in the environment.
    ///
    /// # Errors
    /// [`Error::Failed`] if the environment contradicts itself.
    pub fn store(&self) -> Result<Arc<dyn ObjectStore>, Error> {
        let options = ClientOptions::new()
            .with_user_agent(user_agent())
            .with_connect_timeout(CONNECT)
            .with_read_timeout(SILENCE)
            .with_timeout(REQUEST)
            // for s3, gs and az, whether that is allowed is for the environment to say
            .with_allow_http(self.scheme == Scheme::Http || allows_http());
        let retry = RetryConfig {
            backoff: BackoffConfig { max_backoff: LONGEST_WAIT, ..BackoffConfig::default() },
            max_retries: RETRIES,
            retry_timeout: RETRY_TIME,
        };
        let bucket = || self.server.clone();
        let built: object_store::Result<Arc<dyn ObjectStore>> = match self.scheme {
            Scheme::Http => {
                let builder = HttpBuilder::new().with_url(&self.server).with_retry(retry);
                builder.with_client_options(options).build().map(|store| Arc::new(store) as _)
            }
            Scheme::S3 => {
                let builder = AmazonS3Builder::from_env().with_bucket_name(bucket());
                let builder = builder.with_client_options(options).with_retry(retry);
                builder.build().map(|store| Arc::new(store) as _)
            }
            Scheme::Gs => {
                let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket());
                let builder = builder.with_client_options(options).with_retry(retry);
                builder.build().map(|store| Arc::new(store) as _)
            }
            Scheme::Az => {
                let builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket());
                let builder = builder.with_client_options(options).with_retry(retry);
                builder.build().map(|store| Arc::new(store) as _)
            }
        };
        built.map_err(|error| Error::Failed { url: self.text.clone(), reason: error.to_string() })
    }
}

/// A URL without its user, password and query.
#[must_use]
pub fn without_secrets(url: &str) -> String {
    let url = url.split('?').next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (server, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let server = server.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{server}{path}")
}

/// Whether `AWS_ALLOW_HTTP` or its like is set, for servers on this machine.
fn allows_http() -> bool {
    let is_set = |name| std::env::var(name).is_ok_and(|value| value.eq_ignore_ascii_case("true"));
    ["AWS_ALLOW_HTTP", "GOOGLE_ALLOW_HTTP", "AZURE_ALLOW_HTTP"].into_iter().any(is_set)
}

fn user_agent() -> HeaderValue {
    HeaderValue::from_static(concat!("blockmill/", env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_server_and_a_key() {
        let found = Address::parse("http://host:81/a/b%20c/").unwrap();
        assert_eq!((found.server.as_str(), found.key.as_ref()), ("http://host:81", "a/b c"));
        assert_eq!((found.text.as_str(), found.is_folder), ("http://host:81/a/b%20c", true));
        let found = Address::parse("s3://bucket/era/x.era1").unwrap();
        assert_eq!((found.scheme, found.server.as_str()), (Scheme::S3, "bucket"));
        assert!(!found.is_folder);
        let parent = found.parent();
        assert_eq!((parent.text.as_str(), parent.key.as_ref()), ("s3://bucket/era", "era"));
        assert!(Address::parse("gs://bucket").unwrap().is_folder);
    }

    #[test]
    fn what_is_no_place_of_a_file_is_refused_without_its_secrets() {
        let refused = |text| Address::parse(text).unwrap_err().to_string();
        assert!(refused("ftp://host/a").contains("found ftp"));
        for url in ["https://user:s3cret@host/a", "https://host/a?key=s3cret", "s3://u:s3cret@b/a"]
        {
            assert!(!refused(url).contains("s3cret"), "{url}");
        }
        assert!(refused("az:///a").contains("a server or a bucket"));
    }
}
