package discussion

import (
	"slices"
	"strconv"
)

// What tests of the pure parts use.
var (
	ParseIdeas = parseIdeas
)

// ParseEvaluations reads an answer with the marks of the default Scorer.
func ParseEvaluations(text string) ([]Evaluation, error) { return parseEvaluations(text, criteria) }

// Ranking returns ideas by rank. It gives them new IDs.
func Ranking(ideas []Idea) []Idea {
	ideas = slices.Clone(ideas)
	for i := range ideas {
		ideas[i].ID = "idea-" + strconv.Itoa(i+1)
	}
	return Outcome{Discussion: Discussion{Ideas: ideas}}.Ranked()
}
