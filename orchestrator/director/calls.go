package director

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// question is a request to director, strategist or guardian.
type question struct {
	agent    string
	role     blackboard.Role
	op, tmpl string
	task     string // ID of the task that it is about; "": the run
	data     promptData
	input    any
	repairs  int           // further answers to one that does not fit
	total    time.Duration // limit of the call; 0: Bounds.CallTime
}

// toDirector is a question to the director, whose answer is repaired twice.
func (r *run) toDirector(op, tmpl, task string, data promptData, input any) question {
	return question{agent: r.Agents.Director, role: blackboard.RoleDirector, op: op, tmpl: tmpl, task: task, data: data, input: input, repairs: 2}
}

// ask asks for a T that fits its schema and that check accepts; what check returns is
// told to the model.
func ask[T any](r *run, c *orchestrator.Context, q question, check func(T) error) (T, error) {
	q.data.Op = q.op
	seat := team.Seat[T]{Agent: q.agent, Prompt: q.tmpl, Check: check, On: team.Hooks{Quiet: true}}
	seat.Request = agent.Request{Op: q.op, Task: q.task, Input: agent.JSON(q.input)}
	seat.Request.Limits = agent.Limits{Repairs: cmp.Or(q.repairs, orchestrator.None), Total: within(c, cmp.Or(q.total, r.Bounds.CallTime))}
	seat.On.After = func(c *orchestrator.Context, used providers.Usage, err error) error {
		r.spend(c, q.role, q.task, used)
		if q.total != 0 {
			return err
		}
		return timed(err, "Bounds.CallTime", r.Bounds.CallTime)
	}
	return seat.Ask(c, r.Run, q.data)
}

// timed adds the name of its setting to the timeout of a call.
func timed(err error, setting string, value time.Duration) error {
	if errors.Is(err, orchestrator.ErrTimeout) && !team.Ends(err) {
		return fmt.Errorf("%w (%s is %v)", err, setting, value)
	}
	return err
}

// askFor asks for a T, and returns the changes that it makes: the board accepts all of them.
func askFor[T any](r *run, c *orchestrator.Context, q question, changes func(T) ([]blackboard.Change, error)) (v T, made []blackboard.Change, err error) {
	v, err = ask(r, c, q, func(v T) (err error) {
		if made, err = changes(v); err == nil {
			err = r.trial(c, made)
		}
		return err
	})
	if err == nil {
		made, err = r.routed(c, made)
	}
	if err != nil {
		made = nil
	}
	return v, made, err
}

// within returns the time that a call may take, or 0 if the run's time ends before: then the
// engine ends the call, and that is no failure of its agent.
func within(c *orchestrator.Context, d time.Duration) time.Duration {
	if left := c.Left().Wall; left > 0 && left <= d {
		return 0
	}
	return d
}

// spend notes the usage of a call.
func (r *run) spend(c *orchestrator.Context, by blackboard.Role, task string, used providers.Usage) {
	if t, ok := r.board.Task(task); ok && by == blackboard.RoleWorker {
		r.shares.note(c, attemptKey("work", task, t.Attempt))
	}
	if used != (providers.Usage{}) {
		r.must(c, blackboard.Change{By: by, Task: task, Do: blackboard.Spend{Usage: used}})
	}
}

// left tells models what is left of money and time; "": there are no limits. A call to which
// nothing is left is refused, whatever it says.
func (r *run) left(c *orchestrator.Context) string {
	left := c.Left()
	var parts []string
	if left.Cost != 0 {
		parts = append(parts, "USD "+strconv.FormatFloat(float64(left.Cost/(providers.USD/100))/100, 'f', 2, 64))
	}
	if left.Wall != 0 {
		parts = append(parts, fmt.Sprintf("%.0f minutes", left.Wall.Minutes()))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ") + " are left"
}
