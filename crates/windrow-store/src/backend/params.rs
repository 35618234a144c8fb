//! What is bound in a statement: by number (`?1`) or by name (`:now`).

use crate::backend::ToCell;

pub(crate) enum Bound<'a> {
    Numbered(&'a [&'a dyn ToCell]),
    Named(&'a [(&'a str, &'a dyn ToCell)]),
}

pub(crate) trait Params {
    fn with<R>(&self, bind: impl FnOnce(Bound) -> R) -> R;
}

impl Params for () {
    fn with<R>(&self, bind: impl FnOnce(Bound) -> R) -> R {
        bind(Bound::Numbered(&[]))
    }
}

impl Params for &[&dyn ToCell] {
    fn with<R>(&self, bind: impl FnOnce(Bound) -> R) -> R {
        bind(Bound::Numbered(self))
    }
}

impl Params for &[(&str, &dyn ToCell)] {
    fn with<R>(&self, bind: impl FnOnce(Bound) -> R) -> R {
        bind(Bound::Named(self))
    }
}

impl<T: ToCell, const N: usize> Params for [T; N] {
    fn with<R>(&self, bind: impl FnOnce(Bound) -> R) -> R {
        let cells: [&dyn ToCell; N] = std::array::from_fn(|i| &self[i] as &dyn ToCell);
        bind(Bound::Numbered(&cells))
    }
}

pub(crate) struct FromIter<'a, T>(&'a [T]);

/// A list whose length is not known beforehand.
pub(crate) fn params_from_iter<T: ToCell>(cells: &[T]) -> FromIter<'_, T> {
    FromIter(cells)
}

impl<T: ToCell> Params for FromIter<'_, T> {
    fn with<R>(&self, bind: impl FnOnce(Bound) -> R) -> R {
        let cells: Vec<&dyn ToCell> = self.0.iter().map(|cell| cell as &dyn ToCell).collect();
        bind(Bound::Numbered(&cells))
    }
}

/// Values of different types, by number.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$(&$value as &dyn $crate::backend::ToCell),*] as &[&dyn $crate::backend::ToCell]
    };
}

/// The same by name.
macro_rules! named_params {
    ($($name:literal : $value:expr),* $(,)?) => {
        &[$(($name, &$value as &dyn $crate::backend::ToCell)),*] as &[(&str, &dyn $crate::backend::ToCell)]
    };
}

pub(crate) use named_params;
pub(crate) use params;
