//! A ClickHouse of one test, which may be killed: the server of `scripts/services` is shared.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Server {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// With its data below this folder.
    pub fn start(folder: &Path) -> Self {
        // Its environment is installed when the services start.
        crate::services::url("WINDROW_TEST_CLICKHOUSE");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = folder.join("clickhouse");
        Self { child: spawn(port, &folder), port, folder }.ready()
    }

    fn ready(self) -> Self {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < deadline, "ClickHouse did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        self
    }

    /// SIGKILL, and a start on the same data.
    pub fn crash(mut self) -> Self {
        self.stop();
        let child = spawn(self.port, &self.folder);
        let (port, folder) = (self.port, self.folder.clone());
        Self { child, port, folder }.ready()
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn url(&self) -> String {
        format!("http://windrow:windrow@127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(port: u16, folder: &Path) -> Child {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(root.join("target/clickhouse-env/bin/python"));
    command.arg(root.join("scripts/clickhouse_server.py")).arg(port.to_string()).arg(folder.join("data"));
    std::fs::create_dir_all(folder).unwrap();
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
