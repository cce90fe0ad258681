//! Words of times and rules in German, French and Spanish, by their English words.

/// An English word, then words with its meaning, folded.
const WORDS: &[&str] = &[
    "day tag tage tagen jour jours dia dias",
    "week woche wochen semaine semaines semana semanas",
    "month monat monate monaten monats mois mes meses",
    "year jahr jahre jahren jahres ans annee annees anos",
    "hours stunde stunden hora horas",
    "minutes minuten minutos",
    "next nachste nachsten nachster nachstes naechste naechsten naechster naechstes prochain prochaine \
     proximo proxima",
    "coming kommende kommenden kommender kommendes",
    "this diese diesen dieser dieses",
    "last letzte letzten letzter letztes vergangene vergangenen dernier derniere ultimo ultima",
    "every jede jeden jeder jedes alle chaque tous toutes cada todos todas",
    "daily taglich taeglich",
    "weekly wochentlich woechentlich",
    "monthly monatlich",
    "yearly jahrlich jaehrlich",
    "weekdays werktags",
    "first erste ersten erster erstes premier premiere primer primero",
    "second zweite zweiten zweiter zweites deuxieme",
    "third dritte dritten dritter drittes troisieme tercer",
    "fourth vierte vierten vierter viertes quatrieme",
    "for fur fuer pendant durante",
    "in dans",
    "of des",
    "times fois veces",
    "morning vormittag fruh frueh matin",
    "afternoon nachmittag apres-midi",
    "evening abend abends soir",
    "noon mittag mittags midi",
    "midnight mitternacht minuit",
    "one ein eine einem einer",
    "two zwei deux dos",
    "three drei trois tres",
    "four vier quatre cuatro",
    "five funf fuenf cinq cinco",
    "six sechs seis",
    "seven sieben siete",
    "eight acht huit ocho",
    "nine neun neuf nueve",
    "ten zehn diez",
];

/// Returns the English word for a folded word of another language.
pub fn english_word(folded: &str) -> Option<&'static str> {
    WORDS.iter().find_map(|line| {
        let mut words = line.split_whitespace();
        let english = words.next()?;
        words.any(|word| word == folded).then_some(english)
    })
}

#[cfg(test)]
mod tests {
    use super::super::names::{fold_word, parse_month, parse_weekday};
    use super::*;

    #[test]
    fn words_are_translated() {
        for (word, english) in [
            ("Nächsten", Some("next")),
            ("Tagen", Some("day")),
            ("tous", Some("every")),
            ("Stunden", Some("hours")),
            ("day", None),
            ("tages", None),
        ] {
            assert_eq!(english_word(&fold_word(word)), english, "{word}");
        }
    }

    /// A word has one meaning, and none is the name of a weekday or month; "vier" as the beginning of
    /// "viernes" is not written.
    #[test]
    fn words_are_distinct() {
        let mut all: Vec<&str> = WORDS
            .iter()
            .flat_map(|line| line.split_whitespace())
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        for word in all.into_iter().filter(|word| *word != "vier") {
            assert_eq!(fold_word(word), word);
            assert!(
                parse_weekday(word).is_none() && parse_month(word).is_none(),
                "{word}"
            );
        }
    }
}
