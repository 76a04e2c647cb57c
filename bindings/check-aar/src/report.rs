//! What the checks found: one line each.

use std::fmt;

/// One line.
#[derive(Debug)]
pub struct Line {
    /// What was looked at.
    pub subject: String,
    /// The figure that was found, or what is wrong.
    pub verdict: Result<String, String>,
}

/// All lines, in the order of the checks.
#[derive(Debug, Default)]
pub struct Report {
    /// The lines.
    pub lines: Vec<Line>,
}

impl Report {
    /// Notes what a check found: its figure where there are no problems, else a line for each.
    pub fn judge(&mut self, subject: &str, problems: Vec<String>, figure: impl Into<String>) {
        if problems.is_empty() {
            self.push(subject, Ok(figure.into()));
        }
        for problem in problems {
            self.push(subject, Err(problem));
        }
    }

    /// Notes one problem.
    pub fn fail(&mut self, subject: &str, problem: impl Into<String>) {
        self.push(subject, Err(problem.into()));
    }

    /// Compares a size with what the budget allows.
    pub fn check_size(&mut self, subject: &str, bytes: usize, at_most: usize) {
        let figures = format!("{bytes} bytes of at most {at_most}");
        let problems = if bytes > at_most {
            vec![format!("too large: {figures}")]
        } else {
            Vec::new()
        };
        self.judge(subject, problems, figures);
    }

    /// What is wrong.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        self.lines.iter().filter_map(|line| {
            let problem = line.verdict.as_ref().err()?;
            Some(format!("{}: {problem}", line.subject))
        })
    }

    /// Whether nothing is wrong.
    pub fn passed(&self) -> bool {
        self.problems().next().is_none()
    }

    fn push(&mut self, subject: &str, verdict: Result<String, String>) {
        self.lines.push(Line {
            subject: subject.to_owned(),
            verdict,
        });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Line { subject, verdict } in &self.lines {
            match verdict {
                Ok(figure) => writeln!(formatter, "ok      {subject}: {figure}")?,
                Err(problem) => writeln!(formatter, "FAILED  {subject}: {problem}")?,
            }
        }
        let failed = self.problems().count();
        let passed = self.lines.len() - failed;
        writeln!(formatter, "check-aar: {passed} passed, {failed} failed")
    }
}
