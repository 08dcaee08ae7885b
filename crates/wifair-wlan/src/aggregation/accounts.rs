//! Accounts of packets: their shares of PPDUs whose times were divided. Most packets have none when they leave, so these are
//! not kept with the packets.

use wifair_core::{Rate, Time};

/// Shares of a packet in all its PPDUs, and the rate of the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub spent: AirtimeShare,
    pub rate: Rate,
}

/// Times of a PPDU, or shares of them: airtime, overhead and time in service.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AirtimeShare {
    pub airtime: Time,
    pub overhead: Time,
    pub service: Time,
}

impl Account {
    fn nothing() -> Account {
        Account { spent: AirtimeShare::default(), rate: Rate::from_kbps(0) }
    }

    /// The same with the shares of another PPDU.
    pub fn with(mut self, AirtimeShare { airtime, overhead, service }: AirtimeShare, rate: Rate) -> Account {
        self.spent.airtime += airtime;
        self.spent.overhead += overhead;
        self.spent.service += service;
        Account { rate, ..self }
    }
}

/// The shares of the packets of a link queue, by the numbers of their accounts.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    all: Vec<Account>,
    free: Vec<u32>,
}

impl Accounts {
    /// The number of a packet without an account.
    pub const NONE: u32 = u32::MAX;

    /// Adds the shares of a PPDU to an account, which is opened if there is none.
    pub fn add(&mut self, account: &mut u32, spent: AirtimeShare, rate: Rate) {
        if *account == Accounts::NONE {
            *account = self.free.pop().unwrap_or(self.all.len() as u32);
            if *account as usize == self.all.len() {
                self.all.push(Account::nothing());
            }
        }
        let found = &mut self.all[*account as usize];
        *found = found.with(spent, rate);
    }

    /// Closes the account of a packet that leaves; returns its shares.
    pub fn close(&mut self, account: u32) -> Account {
        match self.all.get_mut(account as usize) {
            Some(found) => {
                self.free.push(account);
                std::mem::replace(found, Account::nothing())
            }
            None => Account::nothing(),
        }
    }
}
