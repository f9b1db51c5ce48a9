package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/research"
)

// thoughts are sentences about a word, %s, that any source gives rise to; openings are
// how they can begin.
var (
	thoughts = []string{
		"what it says about %s starts from what people do and not from what they say",
		"for %s the first answer is seldom the last one",
		"whoever knows %s only from outside will be surprised by how much of it is routine",
		"the figures behind %s are less certain than the way in which they are quoted",
		"there is a simple test for %s: would anybody miss it after a year without it",
		"it takes patience to see where %s helps and where it merely moves the work elsewhere",
		"a small change in how %s is paid for would change more than any new tool",
		"not everybody agrees about %s, and the lines run where one would not expect them",
		"seen over ten years, %s has changed less than who decides about it",
		"the strongest argument against %s comes from those who use it every day",
		"where %s fails, it fails early, and mostly for want of time",
		"it would be easy to make a rule for %s, and hard to find somebody who follows it",
		"the question is not whether %s works, but for whom, and at what price",
		"one detail about %s is easily overlooked: nobody has to be convinced twice",
		"much that is said about %s holds for its neighbours as well",
		"in the end %s is a matter of trust, and trust is slow",
	}
	openings = []string{"", "By this account, ", "On a closer look, ", "Put plainly, ", "As far as one can tell, ", "More to the point, ", "To begin with, ", "By and large, "}
)

// thought is the n-th sentence about a word.
func thought(word string, n int) string {
	text := fmt.Sprintf(thoughts[n%len(thoughts)], quote(word))
	opening := openings[n/len(thoughts)%len(openings)]
	if opening == "" {
		return strings.ToUpper(text[:1]) + text[1:] + "."
	}
	return opening + text + "."
}

// write makes an article of the sources: an introduction, a section for each word of the
// topic and a conclusion. Each source gives its share of the wanted length, and no more:
// few sources make a short text.
func write(in research.WorkerInput, words []string) any {
	found := sources(in.Inputs)
	w := &writer{share: in.Brief.Length / max(in.Brief.MinSources, len(found))}
	fmt.Fprintf(&w.text, "*%s The sources are made up: the text shows what the team does, not what is known.*\n\n## Introduction\n\n", rehearsal.Label)
	fmt.Fprintf(&w.text, "This text is about %s. It goes through what %d sources say.\n", quote(in.Brief.Topic), len(found))
	for i, word := range words {
		fmt.Fprintf(&w.text, "\n## %s\n", word)
		for _, s := range found {
			if section(s, words) == i {
				w.paragraph(s, word)
			}
		}
	}
	fmt.Fprintf(&w.text, "\n## Conclusion\n\nWhat remains of %s is a list of questions, and %d places to start from.\n", quote(in.Brief.Topic), len(found))
	return research.Draft{Title: in.Brief.Topic, Content: w.text.String()}
}

// section is the first word that a source's title has, by its number.
func section(s research.Source, words []string) int {
	have := rehearsal.Set(s.Title)
	return max(0, slices.IndexFunc(words, func(w string) bool { return have[strings.ToLower(w)] }))
}

// writer writes an article and counts its thoughts.
type writer struct {
	text  strings.Builder
	share int // words that a source is worth
	next  int
}

// paragraph is what a source gives rise to.
func (w *writer) paragraph(s research.Source, word string) {
	text := fmt.Sprintf("[%s](%s) is about %s. %s.", s.Title, s.URL, quote(word), strings.TrimSuffix(s.Excerpt, ". "+rehearsal.Label))
	for len(strings.Fields(text)) < w.share {
		text += " " + thought(word, w.next)
		w.next++
	}
	w.text.WriteString("\n" + text + "\n")
}
