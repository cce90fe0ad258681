//! The s-expressions of the query languages: `(and (contains "full_name" "x") (exists "phone"))`.

/// Parentheses may be nested this deep. Clients nest less than ten; evaluating is recursive.
const MAX_DEPTH: usize = 200;
/// The longest query in bytes. Clients name some thousands of UIDs in one query.
const MAX_QUERY: usize = 4 << 20;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// `(name argument ...)`.
    Call(String, Vec<Expr>),
    /// `"text"`.
    Text(String),
    /// A whole number.
    Number(i64),
    /// `#t` or `#f`.
    Bool(bool),
}

/// The reason why a text is not an expression, with the byte at which it was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {at} of the query")]
pub struct SyntaxError {
    /// What was found or is missing.
    pub reason: &'static str,
    /// The byte offset.
    pub at: usize,
}

/// Parses one expression, with blanks and comments (`;` to the end of a line) around it.
pub fn parse(text: &str) -> Result<Expr, SyntaxError> {
    if text.len() > MAX_QUERY {
        return Err(SyntaxError {
            reason: "the query is too long",
            at: MAX_QUERY,
        });
    }
    let mut parser = Parser {
        text: text.as_bytes(),
        at: 0,
    };
    let expr = parser.parse_all()?;
    parser.skip_blanks();
    if parser.at < parser.text.len() {
        return Err(parser.error("more text after the expression"));
    }
    Ok(expr)
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
}

impl Parser<'_> {
    fn error(&self, reason: &'static str) -> SyntaxError {
        SyntaxError {
            reason,
            at: self.at,
        }
    }

    fn skip_blanks(&mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b';' => {
                    while self.text.get(self.at).is_some_and(|&b| b != b'\n') {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
    }

    /// Parses with a stack of its own: depth is bounded, and no input overflows the thread's.
    fn parse_all(&mut self) -> Result<Expr, SyntaxError> {
        let mut open: Vec<(String, Vec<Expr>)> = Vec::new();
        loop {
            self.skip_blanks();
            let done = match self.text.get(self.at) {
                None if open.is_empty() => return Err(self.error("the query is empty")),
                None => return Err(self.error("a parenthesis is not closed")),
                Some(b'(') => {
                    if open.len() == MAX_DEPTH {
                        return Err(self.error("parentheses are nested too deeply"));
                    }
                    self.at += 1;
                    self.skip_blanks();
                    let name = self.take_word();
                    if name.is_empty() {
                        return Err(self.error("a function's name is missing"));
                    }
                    open.push((name, Vec::new()));
                    continue;
                }
                Some(b')') => {
                    let Some((name, arguments)) = open.pop() else {
                        return Err(self.error("a closing parenthesis too many"));
                    };
                    self.at += 1;
                    Expr::Call(name, arguments)
                }
                Some(b'"') => Expr::Text(self.take_text()?),
                Some(b'#') => self.take_bool()?,
                Some(_) => self.take_number()?,
            };
            match open.last_mut() {
                Some((_, arguments)) => arguments.push(done),
                None => return Ok(done),
            }
        }
    }

    fn take_word(&mut self) -> String {
        let start = self.at;
        while self
            .text
            .get(self.at)
            .is_some_and(|b| !b.is_ascii_whitespace() && !matches!(b, b'(' | b')' | b'"' | b';'))
        {
            self.at += 1;
        }
        String::from_utf8_lossy(&self.text[start..self.at]).into_owned()
    }

    fn take_text(&mut self) -> Result<String, SyntaxError> {
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            match self.text.get(self.at) {
                None => return Err(self.error("a text is not closed")),
                Some(b'"') => break self.at += 1,
                Some(b'\\') => {
                    let Some(&escaped) = self.text.get(self.at + 1) else {
                        return Err(self.error("a text is not closed"));
                    };
                    bytes.push(escaped);
                    self.at += 2;
                }
                Some(&byte) => {
                    bytes.push(byte);
                    self.at += 1;
                }
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn take_bool(&mut self) -> Result<Expr, SyntaxError> {
        let start = self.at;
        match self.take_word().as_str() {
            "#t" => Ok(Expr::Bool(true)),
            "#f" => Ok(Expr::Bool(false)),
            _ => {
                self.at = start;
                Err(self.error("neither #t nor #f"))
            }
        }
    }

    fn take_number(&mut self) -> Result<Expr, SyntaxError> {
        let start = self.at;
        self.take_word().parse().map(Expr::Number).map_err(|_| {
            self.at = start;
            self.error("neither a text, a number nor a parenthesis")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_nest() {
        let found = parse("(and (contains \"full_name\" \"a\\\"b\") ; so\n (x #t -3))").unwrap();
        assert_eq!(
            found,
            Expr::Call(
                "and".into(),
                vec![
                    Expr::Call(
                        "contains".into(),
                        vec![Expr::Text("full_name".into()), Expr::Text("a\"b".into())]
                    ),
                    Expr::Call("x".into(), vec![Expr::Bool(true), Expr::Number(-3)]),
                ]
            )
        );
    }

    #[test]
    fn bad_expressions_are_refused_with_their_place() {
        for (text, at) in [
            ("", 0),
            ("(", 1),
            ("(a", 2),
            (")", 0),
            ("(a) b", 4),
            ("\"a", 2),
            ("#x", 0),
        ] {
            assert_eq!(parse(text).unwrap_err().at, at, "{text}");
        }
        let deep = "(not ".repeat(100_000);
        assert!(parse(&deep).is_err());
    }
}
