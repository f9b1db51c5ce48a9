// Package prose bounds and cleans what pages say, and compares it with words that are sought.
package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine is a text without line breaks, of at most so many characters.
func OneLine(text string, most int) string {
	return Cut(strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " "), most)
}

// Paragraphs is a text of lines without control characters, trailing space and more than
// one empty line in a row.
func Paragraphs(text string) string {
	var b strings.Builder
	empty := true // so that none comes first
	for line := range strings.SplitSeq(strings.ToValidUTF8(text, "\uFFFD"), "\n") {
		line = strings.TrimRightFunc(strings.Map(printable, line), unicode.IsSpace)
		if line == "" && empty {
			continue
		}
		empty = line == ""
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\t' || r == '\uFEFF' { // also the mark of the byte order
		return -1
	}
	return r
}

// Cut is a text of at most so many characters; "…" is the last one if some are missing.
func Cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	end := 0
	for range most - 1 {
		_, n := utf8.DecodeRuneInString(text[end:])
		end += n
	}
	return strings.TrimRightFunc(text[:end], unicode.IsSpace) + "…"
}

// words are the words of a text in lower case, each once, in order.
func words(text string) []string {
	var list []string
	seen := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }) {
		if !seen[w] {
			seen[w] = true
			list = append(list, w)
		}
	}
	return list
}

// common are words that carry no meaning for a search.
var common = setOf(strings.Fields("a about after all an and are as at be been before between but by can could do does for from had has have how if in into is it its may more most new no not of on or our over should so some such than that the their them then there these they this those through to under up use used using was we were what when where which who why will with within without would you your"))

func setOf(list []string) map[string]bool {
	set := map[string]bool{}
	for _, w := range list {
		set[w] = true
	}
	return set
}

// Terms are the significant words of a topic, at most so many; all of them if none is
// significant.
func Terms(topic string, most int) []string {
	all := words(topic)
	var list []string
	for _, w := range all {
		if !common[w] {
			list = append(list, w)
		}
	}
	if list == nil {
		list = all
	}
	return list[:min(len(list), most)]
}

// Overlap is the share of terms that a text has among its words, 0 to 1.
func Overlap(terms []string, text string) float64 {
	if len(terms) == 0 {
		return 0
	}
	has := setOf(words(text))
	n := 0
	for _, t := range terms {
		if has[t] {
			n++
		}
	}
	return float64(n) / float64(len(terms))
}
