//! Arguments of `etui sync`, which `etui-serve` runs.

const EXAMPLES: &str = "\
Examples:
  etui sync add https://cloud.example.org      pair your store with an account
  etui sync                                    bring all accounts in step, now
  etui sync --dry-run                          ... and only say what would be done
  etui sync status                             what is paired, and what is refused
  etui sync from-vdirsyncer                    the commands that replace vdirsyncer's configuration
  etui conflicts                               texts that lost because both sides changed them
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
    /// Say what would be done, and change nothing on either side
    #[arg(long)]
    pub dry_run: bool,
    /// Let this many be removed from a collection at once; more than 10 and a fifth are not believed otherwise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub allow_removals: u64,
}

/// What is done instead of a run.
#[derive(Debug, clap::Subcommand)]
pub enum SyncCommand {
    // Its help is that of its arguments.
    #[allow(missing_docs)]
    Add(AddAccountArgs),
    /// Show accounts, their collections, and what is refused
    Status,
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
    #[arg(long)]
    pub read_only: bool,
    /// Only this collection, by its name or the last part of its address; can be repeated [default: all]
    #[arg(long, value_name = "COLLECTION")]
    pub only: Vec<String>,
    /// SHA-256 of a certificate to take that no authority vouches for
    #[arg(long, value_name = "FINGERPRINT")]
    pub certificate: Option<String>,
    /// Pair, and do not sync yet
    #[arg(long)]
    pub no_sync: bool,
}
