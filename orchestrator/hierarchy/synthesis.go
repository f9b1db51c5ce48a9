package hierarchy

import (
	"errors"
	"math"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// synthesize lets the head make one result of the passing ones, if that is permitted. If
// all attempts fail, the best specialist's output is used.
func (d *department) synthesize(c *orchestrator.Context, brief string, passing []SpecialistResult) error {
	if err := d.Go(c, moveSomePass); err != nil {
		return err
	}
	d.report.Basis = FromSpecialists
	d.least = d.leastSynthesis(passing)
	draft, err := d.write(c, brief, "synthesis.tmpl", synthesisPrompt{resolvePrompt{d.Department, brief, passing}, d.resolve(c, brief, passing)})
	if err == nil {
		draft, err = d.refine(c, brief, draft)
	}
	switch canceled := c.Err(); {
	case canceled != nil:
		return canceled
	case d.desk.IsHostError(err):
		return err
	case err != nil:
		d.fallBack(c, passing, err)
	default:
		d.keep(c, draft)
		d.Fire(c, moveOK)
	}
	quality, err := d.quality(c)
	if err == nil {
		d.assess(quality)
	}
	return err
}

// write returns the best answer of the head to a prompt, retried as often as the
// department allows. The error says why there is none.
func (d *department) write(c *orchestrator.Context, brief, name string, values any) (Attempt, error) {
	text, err := d.run.Prompts.Fill(name, values)
	if err != nil {
		return Attempt{}, err
	}
	attempts, err := d.headWork(c, brief, text)
	if len(attempts) == 0 {
		return Attempt{}, err
	}
	b := best(attempts)
	switch {
	case d.desk.IsHostError(err):
	case b.Output != nil:
		err = nil // work from before the budget was used up counts
	case err == nil:
		err = errors.New(failure(attempts))
	}
	return b, err
}

// leastSynthesis is the length of the shortest synthesis that counts, in characters.
func (d *department) leastSynthesis(passing []SpecialistResult) int {
	share := d.run.cfg.Policy.MinSynthesis
	if share < 0 || len(d.head().Schema) > 0 {
		return 0
	}
	shortest := length(passing[0].Output)
	for _, s := range passing {
		shortest = min(shortest, length(s.Output))
	}
	return int(math.Ceil(grading.Round6(share * float64(shortest))))
}

func (d *department) keep(c *orchestrator.Context, b Attempt) {
	d.report.Output = b.Output
	if !d.run.cfg.Policy.GradeHeads || b.Decision == grading.Accept {
		return
	}
	d.unverified = true
	if b.Ungraded == "" {
		d.warn(c, "below-gate", "the best synthesis scored %s, below the head's threshold", number(b.Score))
	}
}

// resolve asks which statement is right where results contradict each other.
func (d *department) resolve(c *orchestrator.Context, brief string, passing []SpecialistResult) string {
	hook, byHead := d.run.cfg.Rules.Resolve, d.run.cfg.Policy.ResolveConflicts
	var note string
	var err error
	switch {
	case len(passing) < 2:
	case byHead:
		head := d.head()
		head.Schema = nil // it is for its work
		var resp agent.Response
		resp, err = d.run.call(c, head, d.ID, "resolve.tmpl", resolvePrompt{d.Department, brief, passing})
		note = resp.Text
	case hook != nil:
		note, err = team.Rule(d.desk, c, d.ID, "Rules.Resolve", func() (string, error) { return hook(c, team.Clone(d.Department), brief, team.Clone(passing)) })
	}
	if d.run.over(c, err) || byHead && err != nil { // a rule that failed has warned already
		d.warn(c, "conflicts", "%v", err)
	}
	return note
}

// refine lets the head improve its draft in further rounds, and returns the best
// version, the later of equals; one without a grade never in the place of one with a grade. A
// round that fails is the last. The error is that of a rule.
func (d *department) refine(c *orchestrator.Context, brief string, draft Attempt) (Attempt, error) {
	total := d.run.cfg.Policy.SynthesisRounds
	for round := 2; round <= total; round++ {
		next, err := d.write(c, brief, "refine.tmpl", refinePrompt{
			Department: d.Department, Request: brief, Draft: Text(draft.Output), Round: round, Total: total,
		})
		if d.desk.IsHostError(err) {
			return draft, err
		}
		if err != nil {
			d.warn(c, "refinement", "%v", err)
			break
		}
		if next.graded() || !draft.graded() {
			draft = best([]Attempt{draft, next})
		}
	}
	return draft, nil
}

// fallBack uses the best passing output, the first of equals, unverified: it answers its
// specialist's part only. One that was graded comes before one that was not. why is the error
// of the synthesis.
func (d *department) fallBack(c *orchestrator.Context, passing []SpecialistResult, why error) {
	chosen := passing[team.Best(len(passing), team.First, func(i int) *float64 {
		score := passing[i].Score
		if passing[i].Ungraded+passing[i].Assumed != "" {
			score -= 101 // below every score
		}
		return &score
	})]
	d.Fire(c, moveExhausted)
	d.report.Output, d.report.Basis, d.unverified = chosen.Output, FallbackOutput, true
	d.warn(c, "fallback", "partial synthesis failure: %v", why)
	d.Emit(c, EventSynthesisReplaced, &Event{Event: team.Event{Text: prompt.OneLine(why.Error())}, Agents: []string{chosen.AgentID}, Score: &chosen.Score})
	d.Fire(c, moveTaken)
}
