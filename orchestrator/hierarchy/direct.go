package hierarchy

import (
	"fmt"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
)

// direct has the head answer the brief itself (H65, H71).
func (d *department) direct(c *orchestrator.Context, brief string, basis Basis) error {
	d.stage = "head"
	d.report.Basis = basis
	d.actor.emit(c, "department.head_direct", Event{Basis: basis})
	head := d.head()
	t := d.headTask(brief)
	if d.run.cfg.GradeHeads {
		gate, err := d.run.threshold(head, d.Department)
		if err != nil {
			d.actor.fire("exhausted")
			return err
		}
		t.gate = gate
		t.grade = func(c *orchestrator.Context, a *Attempt, self *float64) error {
			return d.run.grade(c, a, Work{d.Department, head, brief, a.Output, gate, a.Number}, self)
		}
	}
	attempts, err := d.run.work(c, t)
	if err == nil {
		err = d.take(attempts)
	}
	if err != nil && !d.run.canceled {
		d.actor.fire("exhausted")
	}
	if err != nil {
		return err
	}
	d.actor.fire("ok")
	if !d.run.cfg.GradeHeads {
		d.assess(float64(*d.run.cfg.HeadOnlyScore))
	}
	return nil
}

// take makes the head's best attempt the output. It is an error if none passed
// (HC29).
func (d *department) take(attempts []Attempt) error {
	b := best(attempts)
	d.report.Output = b.Output
	switch {
	case b.Output == nil:
		return fmt.Errorf("head %q failed %d times, last: %s", d.Head, len(attempts), attempts[len(attempts)-1].Error)
	case d.run.cfg.GradeHeads && b.Decision != grading.Accept:
		d.flag(flagHeadBelow)
		return fmt.Errorf("head %q: the best of %d attempts scored %s, below its threshold", d.Head, len(attempts), number(b.Score))
	case d.run.cfg.GradeHeads:
		d.assess(b.Score)
	}
	return nil
}

// headTask is work of the head, tried again as often as the department allows (H5).
func (d *department) headTask(prompt string) task {
	return task{
		agent: d.head(), prompt: prompt, retries: *d.MaxRetries,
		begin: func(_ *orchestrator.Context, number int, _ string) {
			if number > 0 {
				d.actor.fire("retry")
			}
		},
		end: func(*orchestrator.Context, Attempt) {},
	}
}
