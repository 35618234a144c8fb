//! Which expected call is which that was made: as many as possible at the same time.

use super::Order;
use super::called::Called;
use super::expected::Wanted;

/// Pairs of places in the two lists.
pub fn matched(wanted: &[Wanted], called: &[Called], order: Order) -> Vec<(usize, usize)> {
    let fits: Vec<Vec<bool>> = wanted.iter().map(|want| called.iter().map(|call| want.fits(call)).collect()).collect();
    match order {
        Order::Any => in_any_order(&fits, called.len()),
        Order::Exact => in_order(&fits, called.len()),
    }
}

/// The largest matching: an expectation gives way if another call fits it as well.
fn in_any_order(fits: &[Vec<bool>], calls: usize) -> Vec<(usize, usize)> {
    let mut taken: Vec<Option<usize>> = vec![None; calls];
    for want in 0..fits.len() {
        place(want, fits, &mut taken, &mut vec![false; calls]);
    }
    taken.iter().enumerate().filter_map(|(call, want)| Some(((*want)?, call))).collect()
}

fn place(want: usize, fits: &[Vec<bool>], taken: &mut [Option<usize>], seen: &mut [bool]) -> bool {
    for call in 0..taken.len() {
        if !fits[want][call] || std::mem::replace(&mut seen[call], true) {
            continue;
        }
        if taken[call].is_none_or(|other| place(other, fits, taken, seen)) {
            taken[call] = Some(want);
            return true;
        }
    }
    false
}

/// The longest common subsequence.
fn in_order(fits: &[Vec<bool>], calls: usize) -> Vec<(usize, usize)> {
    let mut longest = vec![vec![0; calls + 1]; fits.len() + 1];
    for want in (0..fits.len()).rev() {
        for call in (0..calls).rev() {
            let with = if fits[want][call] { 1 + longest[want + 1][call + 1] } else { 0 };
            longest[want][call] = with.max(longest[want + 1][call]).max(longest[want][call + 1]);
        }
    }
    let (mut want, mut call, mut pairs) = (0, 0, Vec::new());
    while want < fits.len() && call < calls {
        if fits[want][call] && longest[want][call] == 1 + longest[want + 1][call + 1] {
            pairs.push((want, call));
            (want, call) = (want + 1, call + 1);
        } else if longest[want + 1][call] >= longest[want][call + 1] {
            want += 1;
        } else {
            call += 1;
        }
    }
    pairs
}
