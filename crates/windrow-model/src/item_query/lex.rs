//! The words of a question, each with its place.

use std::ops::Range;

use crate::syntax_error::SyntaxError;

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// A name, a keyword or a number.
    Word(String),
    Text(String),
    /// `= != < <= > >= ~ ( ) , .`
    Sign(&'static str),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    pub token: Token,
    pub at: Range<usize>,
}

const SIGNS: &[&str] = &["!=", "<>", "<=", ">=", "==", "&&", "||", "=", "<", ">", "~", "(", ")", ",", "!"];

pub fn lex(text: &str) -> Result<Vec<Placed>, SyntaxError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (token, end) = match c {
            '"' | '\'' => quoted(text, at, c)?,
            _ => match SIGNS.iter().find(|sign| text[at..].starts_with(**sign)) {
                Some(sign) => (Token::Sign(sign), at + sign.len()),
                None => word(text, at)?,
            },
        };
        tokens.push(Placed { token, at: at..end });
        at = end;
    }
    Ok(tokens)
}

/// A backslash before a quote or a backslash takes its meaning away.
fn quoted(text: &str, start: usize, quote: char) -> Result<(Token, usize), SyntaxError> {
    let mut content = String::new();
    let mut chars = text[start + 1..].char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, c)) => content.push(c),
                None => break,
            },
            c if c == quote => return Ok((Token::Text(content), start + 1 + i + 1)),
            c => content.push(c),
        }
    }
    Err(SyntaxError::new(start..text.len(), "this quote is not closed", "close it with another one"))
}

/// A name may have quoted parts: `score."my judge"`.
fn word(text: &str, start: usize) -> Result<(Token, usize), SyntaxError> {
    let belongs = |c: char| c.is_alphanumeric() || "._-+:@".contains(c);
    let mut content = String::new();
    let mut at = start;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '"' | '\'' if content.ends_with('.') => {
                let (Token::Text(part), end) = quoted(text, at, c)? else { unreachable!("quoted gives text") };
                content.push_str(&part);
                at = end;
            }
            c if belongs(c) => {
                content.push(c);
                at += c.len_utf8();
            }
            _ => break,
        }
    }
    if content.is_empty() {
        let end = start + text[start..].chars().next().map_or(0, char::len_utf8);
        return Err(SyntaxError::new(start..end, "this has no meaning here", "put texts in quotes"));
    }
    Ok((Token::Word(content), at))
}
