//! The frame of all pages.

use maud::{DOCTYPE, Markup, html};

use super::STYLE_PATH;

/// Returns a page with a search field.
pub fn page(title: &str, search: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · etui" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(STYLE_PATH);
            }
            body {
                header {
                    a.home href="/" { "etui" }
                    form action="/" method="get" role="search" {
                        input type="search" name="q" value=(search) placeholder="Search contacts"
                            aria-label="Search contacts" autocomplete="off";
                        button type="submit" { "Search" }
                    }
                }
                main { (content) }
            }
        }
    }
}

/// Returns the text of a page that is not there.
pub fn not_found() -> Markup {
    html! {
        h1 { "Not found" }
        p.empty { "There is nothing here, or this device may not see it." }
    }
}
