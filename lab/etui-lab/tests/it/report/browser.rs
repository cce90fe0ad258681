//! The page in a real browser: headless Chromium, each time with a profile of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A page that frames copies of the report and writes the messages of each into its own
/// text. A frame has any width, a window is never narrower than 500 pixels.
const WRAPPER: &str = r#"<!DOCTYPE html><html><body style="margin:0"><pre id="told"></pre>
<script>
onmessage = e => { document.getElementById("told").textContent += e.data + "\n"; };
</script>
FRAMES
</body></html>"#;

/// Reports to the wrapper: one fault to a line after the width, then `done` and
/// how much was looked at.
const MEASURE: &str = r#"<script>
addEventListener("load", () => {
  const faults = [];
  for (const details of document.querySelectorAll("details")) details.open = true;
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth)
    faults.push(`the page is ${root.scrollWidth} wide in ${root.clientWidth}`);
  let boxes = 0;
  for (const element of document.body.querySelectorAll("*")) {
    if (element.closest("svg, .scroll, .unseen, thead") || element.matches(".defs")) continue;
    const box = element.getBoundingClientRect();
    if (box.width && box.right > root.clientWidth + 0.5)
      faults.push(`<${element.tagName} class="${element.className}"> ends at ${box.right}`);
    boxes++;
  }
  let drawings = 0, words = 0;
  for (const svg of document.querySelectorAll("figure > svg")) {
    const frame = svg.getBoundingClientRect();
    if (!frame.width) continue;
    drawings++;
    const texts = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
    texts.forEach(([word, a], at) => {
      words++;
      if (a.left < frame.left - 0.5 || a.right > frame.right + 0.5 ||
          a.top < frame.top - 0.5 || a.bottom > frame.bottom + 0.5)
        faults.push(`"${word}" leaves its drawing`);
      if (a.height < 8) faults.push(`"${word}" is ${a.height} high`);
      for (const [other, b] of texts.slice(at + 1))
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2)
          faults.push(`"${word}" overlaps "${other}"`);
    });
  }
  faults.push(`done ${boxes} ${drawings} ${words}`);
  parent.postMessage(faults.map(f => `${innerWidth}: ${f}`).join("\n"), "*");
});
</script>"#;

/// The page's policy against scripts; the measured copy goes without.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\"";

/// Whether the tests are to do without a browser.
pub fn skipped() -> bool {
    std::env::var_os("ETUI_TEST_NO_BROWSER").is_some()
}

/// Opens a file and returns the resulting document and its log.
fn open(file: &Path) -> (String, String) {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            "--virtual-time-budget=3000",
            "--window-size=1400,1000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap_or_else(|error| {
            panic!(
                "chromium: {error}; install the package `chromium`, or set \
                 ETUI_TEST_NO_BROWSER to go without"
            )
        });
    assert!(output.status.success(), "chromium: {}", output.status);
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Opens the page as it is; the console must stay empty.
pub fn shows(page: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.html");
    fs::write(&file, page).unwrap();
    let (document, log) = open(&file);
    let console: Vec<&str> = log.lines().filter(|l| l.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{console:#?}");
    document
}

/// Lays the page out at these widths and returns its faults; panics unless it was looked at
/// in all of them, with its drawings where it has some.
pub fn faults(page: &str, widths: &[u32], drawings: bool) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let (before, after) = page.split_once(POLICY).expect("a policy");
    let (_, after) = after.split_once("/>").expect("its end");
    let copy = format!("{before}{after}").replace("</body>", &format!("{MEASURE}</body>"));
    fs::write(dir.path().join("copy.html"), copy).unwrap();
    let frames: String = widths
        .iter()
        .map(|w| {
            format!(
                "<iframe src=\"copy.html\" style=\"border:0;width:{w}px;height:900px\"></iframe>"
            )
        })
        .collect();
    let wrapper = dir.path().join("wrapper.html");
    fs::write(&wrapper, WRAPPER.replace("FRAMES", &frames)).unwrap();
    let (document, _) = open(&wrapper);
    let told = document
        .split_once("id=\"told\">")
        .expect("a place for it")
        .1;
    let told = told.split_once("</pre>").expect("its end").0;
    let (looked, faults): (Vec<&str>, Vec<&str>) =
        told.lines().partition(|line| line.contains(": done "));
    for width in widths {
        let start = format!("{width}: done ");
        let counts: Vec<u32> = looked
            .iter()
            .find_map(|line| line.strip_prefix(&start))
            .unwrap_or_else(|| panic!("the page told nothing at {width}: {told}"))
            .split(' ')
            .map(|n| n.parse().unwrap())
            .collect();
        assert!(counts[0] > 20, "looked at {counts:?}");
        assert!(
            !drawings || counts[1] > 0 && counts[2] > 5,
            "looked at {counts:?}"
        );
    }
    faults.into_iter().map(str::to_owned).collect()
}
