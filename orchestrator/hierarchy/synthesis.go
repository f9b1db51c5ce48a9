package hierarchy

import (
	"encoding/json"
	"errors"

	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
)

// synthesize has the head make one new result of what passed (H8, H62-H64). When
// it fails for good, the best specialist's output stands in (H72, HC30).
func (d *department) synthesize(c *orchestrator.Context, brief string, passing []SpecialistResult) error {
	d.stage = "synthesis"
	d.report.Basis = FromSpecialists
	output, err := d.written(c, "synthesis.tmpl", synthesisPrompt{
		Department: d.Department, Request: brief, Results: passing, Note: d.settle(c, brief, passing),
	})
	switch {
	case err == nil:
		d.report.Output = d.refine(c, brief, output)
		d.actor.fire("ok")
	case d.run.canceled:
		return err
	default:
		d.fallBack(c, passing, err)
	}
	raw, _ := d.quality()
	d.assess(raw)
	return nil
}

// written is what the head writes on a prompt, tried again as often as the
// department allows. Its error is why there is nothing.
func (d *department) written(c *orchestrator.Context, prompt string, values any) (json.RawMessage, error) {
	text, err := d.run.prompts.Fill(prompt, values)
	if err != nil {
		return nil, err
	}
	attempts, err := d.run.work(c, d.synthesisTask(text))
	if err != nil {
		return nil, err
	}
	last := attempts[len(attempts)-1]
	if last.Output == nil {
		return nil, errors.New(last.Error)
	}
	return last.Output, nil
}

// settle asks what holds where results contradict each other (H92).
func (d *department) settle(c *orchestrator.Context, brief string, passing []SpecialistResult) string {
	hook := d.run.cfg.Hooks.Resolve
	if d.run.cfg.ResolveConflicts {
		hook = d.run.headResolve
	}
	if hook == nil || len(passing) < 2 {
		return ""
	}
	note, err := guard("conflict resolver", func() (string, error) { return hook(c, d.Department, brief, passing) })
	if err != nil {
		d.run.stops(c, err)
		d.flag(flagConflicts)
		return ""
	}
	return note
}

// synthesisTask shows its retries, which are transitions of the department.
func (d *department) synthesisTask(prompt string) task {
	t := d.headTask(prompt)
	t.begin = func(c *orchestrator.Context, number int, feedback string) {
		if number > 0 {
			d.actor.fire("retry")
			d.actor.emit(c, "synthesis.retry", Event{Attempt: &number, Feedback: feedback})
		}
	}
	return t
}

// refine has the head go over its draft in further rounds (H91). A round that
// fails leaves the draft as it is.
func (d *department) refine(c *orchestrator.Context, brief string, draft json.RawMessage) json.RawMessage {
	total := d.run.cfg.SynthesisRounds
	for round := 2; round <= total; round++ {
		better, err := d.written(c, "refine.tmpl", refinePrompt{
			Department: d.Department, Request: brief, Draft: Text(draft), Round: round, Total: total,
		})
		if err != nil {
			d.flag(flagRefinement)
			return draft
		}
		draft = better
	}
	return draft
}

// fallBack takes the best passing output, the first of equals (HC31); why is what
// became of the synthesis.
func (d *department) fallBack(c *orchestrator.Context, passing []SpecialistResult, why error) {
	chosen := passing[0]
	for _, s := range passing[1:] {
		if s.Score > chosen.Score {
			chosen = s
		}
	}
	d.actor.fire("exhausted")
	d.report.Output, d.report.Basis = chosen.Output, FallbackOutput
	d.flag(flagPartialSynthesis)
	d.actor.emit(c, "synthesis.fallback", Event{Agents: []string{chosen.AgentID}, Score: &chosen.Score, Message: prompt.OneLine(why.Error())})
	d.actor.fire("taken")
}
