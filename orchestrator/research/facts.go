package research

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// facts are what is counted of a result, and what was wanted.
type facts struct {
	words, wantWords     int
	sources, wantSources int // sources that were read
}

// factsOf counts the words of work, and its sources without those that were not read.
func (r *run) factsOf(work Work) facts {
	return facts{work.Article.Words, r.state.Input.Length, work.read, r.state.Input.MinSources}
}

// lacks says which of the facts is less than that share of what was wanted; "": none is.
func (f facts) lacks(share float64) string {
	var parts []string
	if float64(f.words) < share*float64(f.wantWords) {
		parts = append(parts, fmt.Sprintf("%d of %d words", f.words, f.wantWords))
	}
	if float64(f.sources) < share*float64(f.wantSources) {
		parts = append(parts, fmt.Sprintf("%d of %d sources", f.sources, f.wantSources))
	}
	return strings.Join(parts, " and ")
}

// capped returns g with the marks of article and source at most what the facts allow: each
// is the mean of three shares, of which one is counted and two are taken as full.
func (f facts) capped(g Grade) Grade {
	most := map[string]float64{"article": mean(f.words, f.wantWords), "source": mean(f.sources, f.wantSources)}
	g.Marks = slices.Clone(g.Marks)
	for i := range g.Marks {
		if top, ok := most[g.Marks[i].Name]; ok {
			g.Marks[i].Value = min(g.Marks[i].Value, top)
		}
	}
	return g
}

// mean is the mean of two full shares and that of have in want; more than 1 bounds no mark.
func mean(have, want int) float64 {
	return grading.Round6((2 + float64(have)/float64(max(want, 1))) / 3)
}

// judged is what a Grader says of work. failed is how it failed: then the work is ungraded.
type judged struct {
	grade  Grade
	score  float64
	failed error
}

// judge has work graded. The facts bound its marks. An error ends the run.
func (r *run) judge(c *orchestrator.Context, work Work) (j judged, err error) {
	work.supervisor = r.supervisor(work)
	j.grade, j.failed, err = team.Grade(r.Run, c, "supervisor", "Rules.Grader", func() (Grade, error) {
		return r.Rules.Grader.Grade(c, team.Clone(work))
	}, Grade.check)
	if r.IsHostError(err) || r.breaks(c, err) {
		return j, err
	}
	if j.failed, err = cmp.Or(j.failed, err), nil; j.failed == nil && j.grade.Marks == nil {
		j.failed = errors.New(cmp.Or(j.grade.Feedback, "the Grader gave no marks"))
	}
	if j.failed == nil && r.Policy.MinShare > 0 {
		j.grade = r.factsOf(work).capped(j.grade)
	}
	if j.failed == nil {
		j.score, err = team.Figure(r.Run, c, "supervisor", "Rules.Scorer", 1, func() (float64, error) {
			return r.Rules.Scorer.Score(slices.Clone(j.grade.Marks))
		})
	}
	return j, err
}

// wordsIn counts the words of a text. In scripts without spaces two letters are a word.
func wordsIn(text string) (n int) {
	letters := 0
	for field := range strings.FieldsSeq(text) {
		here, others := 0, false
		for _, c := range field {
			if unicode.In(c, unspaced...) {
				here++
			} else {
				others = others || unicode.IsLetter(c) || unicode.IsDigit(c)
			}
		}
		if letters += here; here == 0 || others {
			n++
		}
	}
	return n + (letters+1)/2
}

// unspaced are the scripts that have no spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}
