//! A web server for a folder: Helm 3 installs archives from nowhere else.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// Serves the files of a folder until the tests end. Returns the address.
pub(super) fn serve(folder: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        listener
            .incoming()
            .for_each(|stream| answer(&stream.unwrap(), &folder))
    });
    address
}

fn answer(mut stream: &TcpStream, folder: &Path) {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let request = lines.next().unwrap_or_default();
    let mut words = request.split(' ');
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let file: PathBuf = folder.join(path.trim_start_matches('/'));
    let (status, body) =
        fs::read(file).map_or(("404 Not Found", Vec::new()), |body| ("200 OK", body));
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/gzip\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // Who asked may have gone.
    let _ = stream.write_all(head.as_bytes());
    if method == "GET" {
        let _ = stream.write_all(&body);
    }
}
