//! A Chromium without a window, driven by chromedriver over HTTP (W3C WebDriver).

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A browser with one page. It ends with this value.
pub(crate) struct Browser {
    driver: Child,
    /// The address of the session.
    session: String,
}

impl Browser {
    /// Starts the Chromium or Chrome that chromedriver finds. Only this machine has an address in it.
    pub(crate) fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let said = BufReader::new(driver.stdout.take().unwrap());
        let mut lines = said.lines().map_while(Result::ok);
        let port = lines
            .find_map(|line| {
                let (_, port) = line.split_once("successfully on port ")?;
                Some(port.trim_end_matches('.').to_owned())
            })
            .unwrap();
        // A pipe that is read by none would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let options = json!({
            // Root has no sandbox, and a container little shared memory.
            "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
        });
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"performance": "ALL"},
        }}});
        let driver_address = format!("http://127.0.0.1:{port}/session");
        let session = post(&driver_address, &capabilities);
        let id = session["sessionId"].as_str().unwrap();
        Self {
            driver,
            session: format!("{driver_address}/{id}"),
        }
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

    /// Waits until an element is there.
    pub(crate) fn wait_for(&self, selector: &str) {
        let started = Instant::now();
        while self.run(
            "return document.querySelector(arguments[0]) === null",
            &json!([selector]),
        ) == true
        {
            assert!(started.elapsed() < Duration::from_secs(60), "no {selector}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Types keys into an element, at the end of its text.
    pub(crate) fn type_into(&self, selector: &str, keys: &str) {
        let element = self.command(
            "element",
            &json!({"using": "css selector", "value": selector}),
        );
        let id = element.as_object().unwrap().values().next().unwrap();
        let path = format!("element/{}/value", id.as_str().unwrap());
        self.command(&path, &json!({"text": keys}));
    }

    /// Returns the addresses that the browser has requested since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        let log = self.command("se/log", &json!({"type": "performance"}));
        let entries = log.as_array().unwrap().iter().map(|entry| {
            let entry: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
            entry["message"].clone()
        });
        entries
            .filter(|message| message["method"] == "Network.requestWillBeSent")
            .map(|message| {
                message["params"]["request"]["url"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            // A picture inside of a style sheet.
            .filter(|address| !address.starts_with("data:"))
            .collect()
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        post(&format!("{}/{path}", self.session), body)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = ureq::delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn post(address: &str, body: &Value) -> Value {
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .new_agent();
    let mut answer = agent.post(address).send(&body.to_string()).unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert!(answer["value"]["error"].is_null(), "{address}: {text}");
    answer["value"].clone()
}
