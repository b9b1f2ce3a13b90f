//! Signals that ask the program to end, while it replaces files.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of the signal that asked the program to end; 0 before one does.
#[derive(Debug, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Begins to keep signals, instead of being ended by them.
    pub fn listen() -> io::Result<Self> {
        let interrupt = Self::default();
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
            for signal in [SIGHUP, SIGINT, SIGTERM] {
                let (flag, number) = (interrupt.0.clone(), signal.unsigned_abs() as usize);
                signal_hook::flag::register_usize(signal, flag, number)?;
            }
        }
        Ok(interrupt)
    }

    /// Returns true if a signal came.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Ends the program as the signal that came would have: a shell shows 128 and its number as the exit code, and ends its loop.
    pub fn end(&self) -> io::Result<()> {
        #[cfg(unix)]
        if self.came() {
            let signal = self.0.load(Ordering::Relaxed) as i32;
            signal_hook::low_level::emulate_default_handler(signal)?;
        }
        Ok(())
    }
}
