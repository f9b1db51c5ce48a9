package discussion

import (
	"slices"
	"strconv"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// The readers of answers, without the names of extra fields.
func ParseIdeas(text string) ([]Idea, error) {
	ideas, _, err := parseIdeas(text)
	return ideas, err
}

// ParseEvaluations reads an answer with the marks of the default Scorer.
func ParseEvaluations(text string) ([]Evaluation, error) {
	found, _, err := parseEvaluations(text, criteria)
	return found, err
}

// Ranking returns ideas by rank. It gives them new IDs.
func Ranking(ideas []Idea) []Idea {
	ideas = slices.Clone(ideas)
	for i := range ideas {
		ideas[i].ID = "idea-" + strconv.Itoa(i+1)
	}
	return Outcome{Discussion: Discussion{Ideas: ideas}}.Ranked()
}

// Transcript is what renders the contexts of one discussion.
type Transcript struct{ t transcript }

func NewTranscript() *Transcript { return &Transcript{} }

func (t *Transcript) Text(d Discussion, maxBytes int) (string, int) { return t.t.text(d, maxBytes) }

// NewCounted is New; *work becomes what the transcript of the latest run did.
func NewCounted(cfg Config, work *int) (orchestrator.Flow[Input, Outcome], error) {
	d := definition()
	d.Run = func(c *orchestrator.Context, s team.Start, cfg Config, in Input) (Outcome, error) {
		r := newRun(cfg)
		defer func() { *work = r.read.work }()
		return r.do(c, s, in)
	}
	return team.New(d, cfg)
}
