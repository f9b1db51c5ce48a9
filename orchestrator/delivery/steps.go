package delivery

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

// stepBudget is why a step whose time is up fails.
const stepBudget = "step budget"

// stepMachine is the state machine of a step.
func (r *run) stepMachine(s *Step) *team.Machine[StepStatus, move] {
	return team.MachineAt(r.kernel, "step/"+s.ID, stepPhases, &s.Status)
}

func (r *run) moveStep(s *Step, on move) { r.stepMachine(s).Fire(nil, on) }

// execute executes a plan. A sub-plan fails with its first step, by a setback; a root plan
// continues after failed steps. errLate: its time is up, and steps are left.
func (r *run) execute(c *orchestrator.Context, id string, until time.Duration) error {
	r.state.PlanStack = append(r.state.PlanStack, id)
	r.state.CurrentPlan = id
	failed := 0
	for {
		steps := r.state.plan(id).Steps // a revision replaces them
		if failed = count(steps, StepFailed); failed >= r.Bounds.FailedSteps {
			break
		}
		i, lacks, err := r.nextStep(c, id, steps)
		if i < 0 || err != nil {
			return err
		}
		s := &steps[i]
		r.state.plan(id).CurrentStepIndex = i
		if lacks != nil {
			r.skip(c, s, *lacks)
		} else {
			if err := r.late(c, until); err != nil {
				if errors.Is(err, errLate) {
					r.emit(c, EventBudgetExceeded, about(id, "execution budget"))
				}
				return err
			}
			if err := r.step(c, s, until, count(steps, stepPending)); err != nil {
				return err
			}
		}
		if s.Depth > 0 && s.Status != StepCompleted {
			return setback{then: lost, why: fmt.Sprintf("step %d of its sub-plan: %s", s.Number, s.FailReason)}
		}
		if err := r.revise(c, id, *s, until); err != nil {
			return err
		}
	}
	r.send(c, Header{Message: escalationSent, From: conductor, To: Supervisor, Target: id}, Escalation{Issues: failed, Level: LevelRefocus})
	return nil
}

// count counts the steps in a state.
func count(steps []Step, status StepStatus) (n int) {
	for i := range steps {
		if steps[i].Status == status {
			n++
		}
	}
	return n
}

// nextStep returns the position of the step that is next; -1: none is left. If it cannot be
// done, lacks is the number of the step that it needs; nil: it can be.
func (r *run) nextStep(c *orchestrator.Context, id string, steps []Step) (position int, lacks *int, err error) {
	first, nodes := ready(steps)
	if first < 0 {
		return -1, nil, nil
	}
	if lacks, found := lostNeed(steps, &steps[first]); found {
		return first, &lacks, nil
	}
	order, err := team.Rule(r.kernel, c, id, "Rules.Scheduler", func() ([]routing.Node, error) {
		order := r.Rules.Scheduler.Order(slices.Clone(nodes), routing.Moment{Now: c.Now()})
		return order, misordered(order, nodes)
	})
	if err != nil {
		return -1, nil, r.part(err)
	}
	return slices.IndexFunc(steps, func(s Step) bool { return s.ID == order[0].ID }), nil, nil
}

// skip blocks a step, because one that it needs was not completed.
func (r *run) skip(c *orchestrator.Context, s *Step, lacks int) {
	r.moveStep(s, moveSkip)
	s.FailReason = fmt.Sprintf("it needs step %d, which was not completed", lacks)
	r.fire(c, moveStepSkipped)
	r.blocked(c, s, s.FailReason)
	r.out.Report.FailReasons = append(r.out.Report.FailReasons, s.ID+": "+s.FailReason)
}

func (r *run) blocked(c *orchestrator.Context, s *Step, why string) {
	r.send(c, Header{Message: stepIsBlocked, From: Coder, To: conductor, Target: s.ID}, why)
	r.emit(c, EventStepBlocked, about(s.ID, why))
}
