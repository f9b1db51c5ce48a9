package text

import "strings"

// Nearest returns the one of names that is most like name, a word that somebody has
// mistyped: at most a third of its letters differ. Of two it is the first. "": none is.
func Nearest(name string, names []string) string {
	best, least := "", len(name)/3+1
	for _, other := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(other), least); d < least {
			best, least = other, d
		}
	}
	return best
}

// distance is how many runes must be added, removed or changed to make b of a. From most
// on it is any number that is not less than most.
func distance(a, b string, most int) int {
	from, to := []rune(a), []rune(b)
	if d := len(from) - len(to); d >= most || -d >= most {
		return most
	}
	row := make([]int, len(to)+1) // row[j]: distance of the beginning of from and to[:j]
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range to {
			changed := diagonal
			if r != s {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, diagonal+1, row[j]+1)
		}
	}
	return row[len(to)]
}
