//! A Chromium without a window, driven by chromedriver over HTTP (W3C WebDriver).

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A browser with one page. It ends with this value.
pub(crate) struct Browser {
    /// Ends after the session.
    _driver: Driver,
    /// The address of the session.
    session: String,
}

/// A request of the page.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) address: String,
}

impl Browser {
    /// Starts the Chromium or Chrome that chromedriver finds. Only this machine has an address in it.
    pub(crate) fn start() -> Self {
        // On a busy machine, Chromium may take longer to start than chromedriver waits.
        let mut failures = Vec::new();
        while failures.len() < 3 {
            match Self::try_start() {
                Ok(browser) => return browser,
                Err(failure) => failures.push(failure),
            }
        }
        panic!("no browser: {failures:#?}")
    }

    fn try_start() -> Result<Self, String> {
        let (driver, port) = Driver::start()?;
        let options = json!({
            // Root has no sandbox, and a container little shared memory.
            "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
        });
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"},
            // Code that is not optimised, on a machine with other things to do.
            "timeouts": {"script": 300_000, "pageLoad": 300_000},
        }}});
        let driver_address = format!("http://127.0.0.1:{port}/session");
        let session = post(&driver_address, &capabilities)?;
        let id = session["sessionId"]
            .as_str()
            .ok_or("a session without id")?;
        Ok(Self {
            _driver: driver,
            session: format!("{driver_address}/{id}"),
        })
    }

    pub(crate) fn open(&self, address: &str) {
        self.command("url", &json!({"url": address}));
    }

    /// Returns what a function body in JavaScript returns.
    pub(crate) fn run(&self, script: &str, arguments: &Value) -> Value {
        self.command(
            "execute/sync",
            &json!({"script": script, "args": arguments}),
        )
    }

    /// Waits until an element is there, and the page loaded.
    pub(crate) fn wait_for(&self, selector: &str) {
        let started = Instant::now();
        let script = json!({
            "script": "return performance.getEntriesByType('navigation')[0]?.loadEventEnd > 0 && document.querySelector(arguments[0]) !== null",
            "args": [selector],
        });
        // A script fails while the browser goes to another page.
        while !post(&format!("{}/execute/sync", self.session), &script)
            .is_ok_and(|found| found == true)
        {
            assert!(
                started.elapsed() < Duration::from_secs(120),
                "no {selector}; the browser says {:#?}, the page {}",
                self.log("browser"),
                self.run(
                    "return [location.href, history.length, document.body.innerText]",
                    &json!([])
                ),
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Gives the page the size of a window, or of a telephone.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.command(
            "goog/cdp/execute",
            &json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": size}),
        );
    }

    pub(crate) fn reload(&self) {
        self.command("refresh", &json!({}));
    }

    pub(crate) fn back(&self) {
        self.command("back", &json!({}));
    }

    /// Clicks at a place of the window, on whatever is there.
    pub(crate) fn click_at(&self, x: i64, y: i64) {
        let actions = json!([
            {"type": "pointerMove", "duration": 0, "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]);
        self.command(
            "actions",
            &json!({"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]}),
        );
    }

    /// Presses keys, for whatever has the focus.
    pub(crate) fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key})))
            .collect();
        self.command(
            "actions",
            &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}),
        );
    }

    /// Types keys into an element, at the end of its text.
    pub(crate) fn type_into(&self, selector: &str, keys: &str) {
        self.of_element(selector, "value", &json!({"text": keys}));
    }

    /// Clicks on an element as a person does: a link that a script follows may take the page's place in the history.
    pub(crate) fn click_on(&self, selector: &str) {
        self.of_element(selector, "click", &json!({}));
    }

    fn of_element(&self, selector: &str, command: &str, body: &Value) {
        let element = self.command(
            "element",
            &json!({"using": "css selector", "value": selector}),
        );
        let id = element.as_object().unwrap().values().next().unwrap();
        self.command(&format!("element/{}/{command}", id.as_str().unwrap()), body);
    }

    /// Returns what the page has requested since the last call.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let log = self.log("performance");
        let messages = log.iter().map(|entry| {
            let entry: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
            entry["message"].clone()
        });
        let requests = messages.filter_map(|message| {
            let (method, address) = match message["method"].as_str()? {
                "Network.requestWillBeSent" => {
                    let request = &message["params"]["request"];
                    (request["method"].as_str()?, request["url"].as_str()?)
                }
                "Network.webSocketCreated" => ("WebSocket", message["params"]["url"].as_str()?),
                _ => return None,
            };
            Some(Request {
                method: method.to_owned(),
                address: address.to_owned(),
            })
        });
        // A picture inside of a style sheet, and the page that Chromium begins with.
        let inside = ["data:", "chrome:", "about:"];
        requests
            .filter(|request| {
                !inside
                    .iter()
                    .any(|scheme| request.address.starts_with(scheme))
            })
            .collect()
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        let log = self.command("se/log", &json!({"type": kind}));
        log.as_array().unwrap().clone()
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        post(&format!("{}/{path}", self.session), body).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = ureq::delete(&self.session).call();
    }
}

/// The program chromedriver. It ends with this value.
struct Driver(Child);

impl Driver {
    /// Starts it. Returns its port as well.
    fn start() -> Result<(Self, String), String> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("chromedriver: {error}"))?;
        let output = BufReader::new(driver.stdout.take().unwrap());
        let driver = Self(driver);
        let mut said = String::new();
        let mut lines = output.lines().map_while(Result::ok);
        while let Some(line) = lines.next() {
            if let Some((_, port)) = line.split_once("successfully on port ") {
                // A pipe that is read by none would stop it.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok((driver, port.trim_end_matches('.').to_owned()));
            }
            said.push_str(&line);
            said.push('\n');
        }
        Err(format!("chromedriver has ended: {said}"))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the value that chromedriver answers. An error is in its words.
fn post(address: &str, body: &Value) -> Result<Value, String> {
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .new_agent();
    let failed = |error| format!("{address}: {error}");
    let mut answer = agent
        .post(address)
        .send(&body.to_string())
        .map_err(failed)?;
    let body = answer.body_mut().with_config().limit(u64::MAX);
    let text = body.read_to_string().map_err(failed)?;
    let answer: Value =
        serde_json::from_str(&text).map_err(|error| format!("{address}: {error}: {text}"))?;
    match &answer["value"]["error"] {
        Value::Null => Ok(answer["value"].clone()),
        _ => Err(format!("{address}: {text}")),
    }
}
