//! Birthdays and anniversaries of the contacts.

use crate::harness::{TestHome, session};

#[test]
fn birthdays_are_listed_and_in_the_agenda() {
    let home = TestHome::with_people();
    let line = "etui -q contacts add --name Ada --set birthday=1990-$(date +%m-%d); \
                etui -q contacts add --name Zoe --set birthday=--$(date -d tomorrow +%m-%d); \
                etui -q contacts add --name Old --set birthday=1990-$(date -d -2days +%m-%d)";
    assert_eq!(home.run(line), ("".into(), Some(0)));
    let (year, _) = home.run("date +%Y");
    let age = year.trim().parse::<i32>().unwrap() - 1990;
    let today = "sed -e \"s/$(date +'%a %-d %b %Y')/TODAY/\"";
    let (text, code) = home.run(&format!(
        "etui contacts birthdays --next 1 | {today} | tr -s ' '"
    ));
    assert_eq!(
        text,
        format!("# Date Name What\n5 TODAY Ada birthday ({age})\n")
    );
    assert_eq!(code, Some(0));
    let (text, _) = home.run("etui contacts birthdays --next 2 --json");
    assert!(
        text.contains("Ada") && text.contains("Zoe") && !text.contains("Old"),
        "{text}"
    );
    session!(home, [
        "etui -q contacts add --name Cy --set birthday=1992-02-29 --set anniversary=2020-02-28",
        "etui -q calendar add Fair --start 2027-02-28",
        "etui calendar agenda --from 2027-02-27 --to 2027-03-01 --birthdays",
        "etui calendar agenda 2028-02-29 --birthdays --json",
        "etui calendar agenda 2027-02-28",
        "etui contacts birthdays 2032-02 | grep Cy; etui contacts birthdays 2032-02-27; etui contacts birthdays someday",
    ], @r#"
    $ etui -q contacts add --name Cy --set birthday=1992-02-29 --set anniversary=2020-02-28
    $ etui -q calendar add Fair --start 2027-02-28
    $ etui calendar agenda --from 2027-02-27 --to 2027-03-01 --birthdays
    Sunday, 28 February 2027
          all day  Bob Öst, birthday
          all day  Cy, birthday (35)
          all day  Cy, anniversary (7)
          all day  Fair  #9
    $ etui calendar agenda 2028-02-29 --birthdays --json
    {"calendar":null,"id":2,"kind":"birthday","title":"Bob Öst","place":"","start":"2028-02-29","end":"2028-03-01","all_day":true,"zone":null,"instance":null,"status":null,"transparent":true,"color":null}
    {"calendar":null,"id":8,"kind":"birthday","title":"Cy","place":"","start":"2028-02-29","end":"2028-03-01","all_day":true,"zone":null,"instance":null,"status":null,"transparent":true,"color":null}
    $ etui calendar agenda 2027-02-28
    Sunday, 28 February 2027
          all day  Fair  #9
    $ etui contacts birthdays 2032-02 | grep Cy; etui contacts birthdays 2032-02-27; etui contacts birthdays someday
    8  Sat 28 Feb 2032  Cy       anniversary (12)
    8  Sun 29 Feb 2032  Cy       birthday (40)
    No birthdays from Fri 27 Feb 2032 to Fri 27 Feb 2032.
    error: "someday" is not a period; write today, tomorrow, week, next week, weekend, month, year, monday, 2026-12-24, 2026-12 or 2026
    [exit 2]
    "#);
}
