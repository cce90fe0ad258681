//! An experiment at a glance: one figure of each role for the summary.

use super::text_table::column_scale;
use crate::{ArmRole, BetterWhen, ExperimentReport, Table, TableRow};

/// The figures of one measure by role, the best where a role has several rows.
pub(super) struct Glance {
    /// The measure, and the table it is from.
    pub measure: String,
    /// As found, best cure, all cures, etui: figure, arm, and whether it is a loss.
    pub of: [Option<(String, String, bool)>; 4],
}

/// Titles of the summary's columns.
pub(super) const ROLES: [(ArmRole, &str); 4] = [
    (ArmRole::AsFound, "As found"),
    (ArmRole::Cure, "Best cure"),
    (ArmRole::AllCures, "All cures"),
    (ArmRole::Etui, "etui"),
];

/// The first measure of the first table, if its rows are the arms of one comparison: exactly
/// one of them is as found.
pub(super) fn select_glance(presentation: &ExperimentReport) -> Option<Glance> {
    let table = presentation.tables.first()?;
    let at = table
        .columns
        .iter()
        .position(|c| c.better != BetterWhen::Neither)?;
    let has = |row: &&TableRow| cell_value(row, at).is_some();
    let found = |row: &&TableRow| row.role == ArmRole::AsFound;
    if table.rows.iter().filter(has).filter(found).count() != 1
        || table.rows.iter().filter(has).count() < 2
    {
        return None;
    }
    Some(Glance {
        measure: format!("{} ({})", table.columns.get(at)?.title, table.title),
        of: ROLES.map(|(role, _)| best_row(table, at, role)),
    })
}

/// A cell's figure, if it is one.
fn cell_value(row: &TableRow, at: usize) -> Option<f64> {
    row.cells.get(at)?.value.filter(|value| value.is_finite())
}

/// The best row of a role.
fn best_row(table: &Table, at: usize, role: ArmRole) -> Option<(String, String, bool)> {
    let column = table.columns.get(at)?;
    let of_role = table.rows.iter().filter(|row| row.role == role);
    let (figure, row) = of_role
        .filter_map(|row| Some((cell_value(row, at)?, row)))
        .min_by(|(a, _), (b, _)| match column.better {
            BetterWhen::More => b.total_cmp(a),
            BetterWhen::Less | BetterWhen::Neither => a.total_cmp(b),
        })?;
    Some((
        column_scale(table, at).write(figure),
        row.label.clone(),
        row.cells.get(at).is_some_and(|cell| cell.lost),
    ))
}
