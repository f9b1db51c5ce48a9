package director

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/answer"
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
	task     string // it is about; "": the run
	data     promptData
	input    any
	repairs  int           // further answers to one that does not fit
	total    time.Duration // limit of the call; 0: Bounds.CallTime
}

// toDirector is a question to the director, whose answer is repaired twice.
func (r *run) toDirector(op, tmpl, task string, input any) question {
	return question{agent: r.Agents.Director, role: blackboard.RoleDirector, op: op, tmpl: tmpl, task: task, input: input, repairs: 2}
}

// ask asks for a T that fits its schema and that check accepts; what check returns is
// told to the model.
func ask[T any](r *run, c *orchestrator.Context, q question, check func(T) error) (T, error) {
	var zero T
	shape, err := answer.For[T]()
	if err != nil {
		return zero, err
	}
	q.data.Op = q.op
	text, err := r.prompts.Fill(q.tmpl, q.data)
	if err != nil {
		return zero, err
	}
	req := agent.Request{Op: q.op, Task: q.task, Prompt: text, Input: agent.JSON(q.input), Output: shape.JSON()}
	req.Limits = agent.Limits{Repairs: cmp.Or(q.repairs, orchestrator.None), Total: within(c, cmp.Or(q.total, r.Bounds.CallTime)), Estimate: r.Limits.Estimate}
	v, resp, err := orchestrator.AskWith(c, q.agent, req, func(resp agent.Response) (T, error) {
		v, err := find[T](shape, resp)
		if err == nil && check != nil {
			err = check(v)
		}
		return v, err
	})
	r.spend(c, q.role, q.task, resp.Usage, err)
	if q.total == 0 {
		err = timed(err, "Bounds.CallTime", r.Bounds.CallTime)
	}
	return v, err
}

// timed adds to a timeout of a call which setting it is of.
func timed(err error, setting string, value time.Duration) error {
	if errors.Is(err, orchestrator.ErrTimeout) && !team.Ends(err) {
		return fmt.Errorf("%w (%s is %v)", err, setting, value)
	}
	return err
}

// find is the T in a response.
func find[T any](shape *answer.Shape, resp agent.Response) (v T, err error) {
	found, err := shape.Find(resp.Data, resp.Text)
	if err != nil {
		return v, err
	}
	return answer.Decode[T](found)
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

// within is a time that a call may take, or 0 if the run's time ends before: the engine
// ends the call then, and that is no failure of its agent.
func within(c *orchestrator.Context, d time.Duration) time.Duration {
	if left := c.Left().Wall; left > 0 && left <= d {
		return 0
	}
	return d
}

// spend notes what a call has used, also one that failed.
func (r *run) spend(c *orchestrator.Context, by blackboard.Role, task string, used providers.Usage, err error) {
	if failed, ok := errors.AsType[*agent.Error](err); ok {
		used = used.Add(failed.Usage)
	}
	if t, ok := r.board.Task(task); ok && by == blackboard.RoleWorker {
		r.shares.note(c, attemptKey("work", task, t.Attempt))
	}
	if used != (providers.Usage{}) {
		r.must(c, blackboard.Change{By: by, Task: task, Do: blackboard.Spend{Usage: used}})
	}
}

// left tells models what is left of money and time; "": there are no limits.
func (r *run) left(c *orchestrator.Context) string {
	left := c.Left()
	var parts []string
	if left.Cost != 0 {
		parts = append(parts, "USD "+strconv.FormatFloat(float64(max(left.Cost, 0)/(providers.USD/100))/100, 'f', 2, 64))
	}
	if left.Wall != 0 {
		parts = append(parts, fmt.Sprintf("%.0f minutes", max(left.Wall, 0).Minutes()))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ") + " are left"
}
