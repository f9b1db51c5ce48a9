package hierarchy

import (
	"encoding/json"

	"github.com/convene-go/convene/orchestrator"
)

// synthesize has the head make one new result of what passed (H8, H62-H64). When
// it fails for good, the best specialist's output stands in (H72, HC30).
func (d *department) synthesize(c *orchestrator.Context, brief string, passing []SpecialistResult) error {
	d.stage = "synthesis"
	d.report.Basis = FromSpecialists
	prompt, err := d.run.prompts.fill("synthesis.tmpl", synthesisPrompt{
		Department: d.Department, Request: brief, Results: passing, Note: d.settle(c, brief, passing),
	})
	var attempts []Attempt
	if err == nil {
		attempts, err = d.run.work(c, d.synthesisTask(prompt))
	}
	if err != nil && d.run.canceled {
		return err
	}
	if output := lastOutput(attempts); err == nil && output != nil {
		d.report.Output = d.refine(c, brief, output)
		d.actor.fire("ok")
	} else {
		d.fallBack(c, passing)
	}
	raw, _ := d.quality()
	d.assess(raw)
	return nil
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
		prompt, err := d.run.prompts.fill("refine.tmpl", refinePrompt{
			Department: d.Department, Request: brief, Draft: Text(draft), Round: round, Total: total,
		})
		var attempts []Attempt
		if err == nil {
			attempts, err = d.run.work(c, d.synthesisTask(prompt))
		}
		better := lastOutput(attempts)
		if err != nil || better == nil {
			d.flag(flagRefinement)
			return draft
		}
		draft = better
	}
	return draft
}

// fallBack takes the best passing output, the first of equals (HC31).
func (d *department) fallBack(c *orchestrator.Context, passing []SpecialistResult) {
	chosen := passing[0]
	for _, s := range passing[1:] {
		if s.Score > chosen.Score {
			chosen = s
		}
	}
	d.actor.fire("exhausted")
	d.report.Output, d.report.Basis = chosen.Output, FallbackOutput
	d.flag(flagPartialSynthesis)
	d.actor.emit(c, "synthesis.fallback", Event{Agents: []string{chosen.AgentID}, Score: &chosen.Score})
	d.actor.fire("taken")
}

// lastOutput is the output of the last attempt; nil: there is none.
func lastOutput(attempts []Attempt) json.RawMessage {
	if len(attempts) == 0 {
		return nil
	}
	return attempts[len(attempts)-1].Output
}
