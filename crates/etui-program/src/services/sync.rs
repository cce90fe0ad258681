//! Arguments of `etui sync`, which `etui-serve` runs.

const EXAMPLES: &str = "\
Examples:
  etui sync add https://cloud.example.org      pair your store with an account
  etui sync                                    bring all accounts in step, now
  etui sync --folder ~/Sync/etui               with your other devices, by a folder that is carried
  etui sync --dry-run                          ... and only say what would be done
  etui sync status                             what is paired, and what is refused
  etui sync from-vdirsyncer                    the commands that replace vdirsyncer's configuration
  etui sync conflicts                          texts that lost because both sides changed them
  systemctl --user enable --now etui-sync.timer
                                               every 15 minutes

Nothing is lost: what both sides changed is merged by property, a text that loses is kept, what one
side removes goes to the trash. The book has the steps for iCloud, Google, Nextcloud and Fastmail
(sync.md).

Exit status: 0 in step; 1 a server was not reached; 3 something is refused or was in conflict;
5 too much would be removed, and nothing was changed.";

/// Keep the store in step with accounts on CardDAV and CalDAV servers
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SyncArgs {
    #[command(subcommand)]
    /// The command; none: bring accounts in step.
    pub command: Option<SyncCommand>,
    /// Only this account; can be repeated [default: all]
    #[arg(long = "account", value_name = "NAME")]
    pub accounts: Vec<String>,
    #[command(flatten)]
    /// Devices in step by a folder.
    pub by_folder: FolderArgs,
    /// Say what would be done, and change nothing on either side
    #[arg(long)]
    pub dry_run: bool,
    /// Let this many be removed from a collection at once; more than 10 and a fifth are not believed otherwise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub allow_removals: u64,
}

/// Devices in step by a folder that something else carries.
#[derive(Debug, clap::Args)]
pub struct FolderArgs {
    /// Sync by a folder that Syncthing, a stick or a cloud carries between your devices; it is encrypted
    #[arg(long, value_name = "DIR")]
    pub folder: Option<std::path::PathBuf>,
    /// File with the folder's key, which the first device printed [default: it is asked for, and kept]
    #[arg(
        long,
        value_name = "FILE",
        requires = "folder",
        conflicts_with = "key_command"
    )]
    pub key_file: Option<std::path::PathBuf>,
    /// Command that writes the folder's key, run at each use
    #[arg(long, value_name = "COMMAND", requires = "folder")]
    pub key_command: Option<String>,
}

/// What is done instead of a run.
#[derive(Debug, clap::Subcommand)]
pub enum SyncCommand {
    // Its help is that of its arguments.
    #[allow(missing_docs)]
    Add(AddAccountArgs),
    // Its help is that of its arguments.
    #[allow(missing_docs)]
    Subscribe(SubscribeArgs),
    /// Give an account's new password, or log in by the browser again
    Login {
        /// Its name
        #[arg(value_name = "ACCOUNT")]
        name: String,
    },
    /// Show accounts, their collections, and what is refused
    Status,
    /// The same as `etui conflicts`
    #[command(disable_help_flag = true)]
    Conflicts {
        /// The words after `etui conflicts`.
        #[arg(
            value_name = "WORDS",
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        words: Vec<String>,
    },
    /// Forget an account; the records stay, here and on the server
    Remove {
        /// Its name
        #[arg(value_name = "ACCOUNT")]
        name: String,
    },
    /// Print the commands that replace vdirsyncer's configuration; nothing is changed
    FromVdirsyncer {
        /// Its file [default: the one that vdirsyncer reads]
        #[arg(value_name = "FILE")]
        file: Option<std::path::PathBuf>,
    },
}

const ADD_EXAMPLES: &str = "\
Examples:
  etui sync add https://cloud.example.org/remote.php/dav --user ada
  etui sync add https://contacts.icloud.com    with an app-specific password
  etui sync add https://caldav.icloud.com      ... and the calendars
  etui sync add https://carddav.fastmail.com   with an app password
  etui sync add https://www.googleapis.com/.well-known/carddav --oauth-client ID
  etui sync add https://dav.example.org --read-only --only Holidays
  etui sync add https://dav.example.org --user ada --password-command 'pass show dav'
  etui sync add ssh://desktop                  the store of another computer with etui

A collection of the server is paired with the one of the same name here, which is made if there is
none. The password is kept in the Secret Service if there is one (secret-tool), else in a file that
only you can read.";

/// Pair the store with an account on a server
#[derive(Debug, clap::Args)]
#[command(after_help = ADD_EXAMPLES)]
pub struct AddAccountArgs {
    /// Address that the provider names for CardDAV or CalDAV, or of a collection; ssh://HOST for another etui
    #[arg(value_name = "URL")]
    pub url: String,
    /// User [default: it is asked for]
    #[arg(long)]
    pub user: Option<String>,
    /// Name of the account, by which commands know it [default: the host]
    #[arg(long)]
    pub name: Option<String>,
    /// Command that writes the password, run at each use
    #[arg(long, value_name = "COMMAND", conflicts_with = "password_file")]
    pub password_command: Option<String>,
    /// File with the password, read at each use
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<std::path::PathBuf>,
    /// Command that writes an OAuth access token, run at each use, instead of user and password
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["user", "password_command", "password_file"])]
    pub token_command: Option<String>,
    /// Take changes of the server, and send none
    #[arg(long, conflicts_with = "push")]
    pub read_only: bool,
    /// Send changes, and take none of the server, but where both sides changed an entry
    #[arg(long)]
    pub push: bool,
    /// Only this collection, by its name or the last part of its address; can be repeated [default: all]
    #[arg(long, value_name = "COLLECTION")]
    pub only: Vec<String>,
    /// SHA-256 of a certificate to take that no authority vouches for
    #[arg(long, value_name = "FINGERPRINT")]
    pub certificate: Option<String>,
    /// Pair, and do not sync yet
    #[arg(long)]
    pub no_sync: bool,
    // The last one: its heading is for all that follow.
    #[command(flatten)]
    /// Logging in by a browser.
    pub oauth: OAuthArgs,
}

/// Logging in by a browser (OAuth 2.0), which Google wants.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Logging in by a browser (Google)")]
pub struct OAuthArgs {
    /// Log in by a browser, with the id of a client that you have registered
    #[arg(long, value_name = "ID", conflicts_with_all = ["password_command", "password_file", "token_command"])]
    pub oauth_client: Option<String>,
    /// File with the client's secret, if it has one
    #[arg(long, value_name = "FILE", requires = "oauth_client")]
    pub oauth_secret_file: Option<std::path::PathBuf>,
    /// Page to log in at [default: Google's for its hosts]
    #[arg(long, value_name = "URL", requires = "oauth_client")]
    pub oauth_page: Option<String>,
    /// Address that gives tokens [default: Google's for its hosts]
    #[arg(long, value_name = "URL", requires = "oauth_client")]
    pub oauth_tokens: Option<String>,
    /// Scopes, separated by blanks [default: Google's for contacts and calendars]
    #[arg(long, value_name = "SCOPES", requires = "oauth_client")]
    pub oauth_scope: Option<String>,
}

const SUBSCRIBE_EXAMPLES: &str = "\
Examples:
  etui calendars subscribe webcal://example.org/holidays.ics
  etui calendars subscribe https://example.org/matches.ics --name Matches
  etui sync                                    read it again; etui-sync.timer does
  etui sync remove Matches                     end it; the calendar stays

A subscription is a calendar of its own. What its publisher changes is changed here; nothing is sent.
If it cannot be reached, or is no calendar any more, all stays as it is, and you are told once.";

/// Subscribe to a calendar that is published as a file (ICS, webcal)
#[derive(Debug, clap::Args)]
#[command(after_help = SUBSCRIBE_EXAMPLES)]
pub struct SubscribeArgs {
    /// Address of the file: https, http or webcal
    #[arg(value_name = "URL")]
    pub url: String,
    /// Name of the calendar [default: its own]
    #[arg(long)]
    pub name: Option<String>,
    /// User, for a file that wants a password
    #[arg(long)]
    pub user: Option<String>,
    /// Command that writes the password, run at each use
    #[arg(long, value_name = "COMMAND", requires = "user")]
    pub password_command: Option<String>,
    /// SHA-256 of a certificate to take that no authority vouches for
    #[arg(long, value_name = "FINGERPRINT")]
    pub certificate: Option<String>,
}
