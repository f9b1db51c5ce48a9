package director

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// The values of orchestrator.Working.Role.
const (
	roleTask   = "task"
	roleMerge  = "merge"
	roleOutage = "outage"
)

// next is how a task begins anew after a failed attempt. Without Retry it does not: then it is
// abandoned, or a person is asked.
type next struct {
	orchestrator.Again
	giveUp bool
}

// at returns the time before which the next attempt does not begin. Zero: it may begin at once.
func (n next) at(now time.Time) time.Time {
	if n.After <= 0 {
		return time.Time{}
	}
	return now.Add(n.After)
}

// after asks the Retrier what follows the n-th failure of a task. qa is its reason, and err the
// error of a call, if one failed. A Retrier that fails leaves the task to a person.
func (r *run) after(c *orchestrator.Context, t *blackboard.Task, qa blackboard.QA, n int, err error) next {
	n = max(n, 1)
	of := orchestrator.Working{Role: roleTask, ID: t.ID, Group: t.Profile, Max: r.Policy.Retry.Attempts}
	if isMerge(qa.Kind) {
		of.Role, of.Max = roleMerge, r.Policy.Retry.Conflicts+1
	}
	profile, _ := r.profile(t.Profile)
	last := orchestrator.Try{Agent: cmp.Or(t.Agent, profile.Agent), Err: err, Decision: string(qa.Kind), Feedback: qa.Feedback}
	again, err := team.Again(r.Run, c, r.Rules.Retrier, of, r.job(t.ID).note(of.Role, n, last))
	return next{again, r.kept(err) == nil && !again.Retry && r.Policy.GiveUp}
}

// isMerge reports whether a merge has failed, and not an attempt.
func isMerge(kind blackboard.FailureKind) bool {
	return kind == blackboard.MergeConflict || kind == blackboard.MergeBroken
}

// note keeps the n-th try of a role, and returns all of them. Those of an earlier run are
// empty.
func (j *job) note(role string, n int, last orchestrator.Try) []orchestrator.Try {
	if j.tries == nil {
		j.tries = map[string][]orchestrator.Try{}
	}
	tries := j.tries[role]
	tries = tries[max(0, len(tries)-n+1):] // a person may have begun to count anew
	tries = append(make([]orchestrator.Try, n-1-len(tries), n), tries...)
	j.tries[role] = append(tries, last)
	return slices.Clone(j.tries[role])
}

// wakeAt has the loop look again at a time at which an attempt may begin. No worker's place
// is taken until then.
func (r *run) wakeAt(until time.Time) {
	if until.IsZero() {
		return
	}
	r.wakes, r.lastWake = append(r.wakes, until), slices.MaxFunc([]time.Time{until, r.lastWake}, time.Time.Compare)
}

// beginWakes begins the waits, each in a branch, and ends them if nothing waits any more.
func (r *run) beginWakes(c *orchestrator.Context) {
	for _, until := range r.wakes {
		r.start(wakeKeys+until.String(), func(c *orchestrator.Context) error { return c.Sleep(until.Sub(c.Now())) })
	}
	r.wakes = nil
	r.lists.delayed = slices.DeleteFunc(r.lists.delayed, func(id string) bool {
		t, _ := r.board.Task(id)
		return t.Final() || !c.Now().Before(t.NotBefore)
	})
	calm := c.Now().Before(r.outages.calm) && r.liveTasks() > 0
	if c.Now().Before(r.lastWake) && len(r.lists.delayed) == 0 && !calm {
		r.stopAll(wakeKeys)
	}
}

// outages are failures of agents in a row at different tasks.
type outages struct {
	tasks []string // tasks that failed since something last worked
	tries []orchestrator.Try
	lost  []string  // tasks that have lost a retry by it
	why   string    // the last failure
	calm  time.Time // no attempt begins before; zero: at any time
}

func (o *outages) succeeded() { o.tasks, o.tries, o.lost = nil, nil, nil }

// outage notes that an agent has failed at a task, and reports whether so many have that the
// run is paused. Then it has cost no task a retry.
func (r *run) outage(c *orchestrator.Context, task, why string) bool {
	o := &r.outages
	if o.why = why; slices.Contains(o.tasks, task) {
		return r.paused
	}
	o.tasks, o.tries = append(o.tasks, task), append(o.tries, orchestrator.Try{Feedback: why})
	if r.Policy.Retry.Outages == 0 {
		return false
	}
	of := orchestrator.Working{Role: roleOutage, ID: "run", Max: r.Policy.Retry.Outages}
	again, err := team.Again(r.Run, c, r.Rules.Retrier, of, o.tries)
	if _ = r.kept(err); again.Retry {
		o.calm = next{Again: again}.at(c.Now())
		r.wakeAt(o.calm)
		return false
	}
	if !r.paused {
		r.paused = true
		r.warn(c, "outage", "", "the run is paused: agents failed at %s: %s", strings.Join(o.tasks, ", "), why)
	}
	for _, id := range o.lost {
		if t, _ := r.board.Task(id); !t.Final() && t.RetryCount > 0 {
			r.direct(c, id, blackboard.Forgive{})
		}
	}
	o.lost = nil
	return true
}

// stagnation counts failed reviews since the tasks were last planned anew. The zero
// value has seen none.
type stagnation struct {
	row   int            // failures in a row, of any tasks
	tasks map[string]int // failures by task
	worst int            // failures of the task that failed most
}

func (s *stagnation) failed(task string) {
	if s.tasks == nil {
		s.tasks = map[string]int{}
	}
	s.row++
	s.tasks[task]++
	s.worst = max(s.worst, s.tasks[task])
}

func (s *stagnation) passed() { s.row = 0 }

func (s *stagnation) replanned() { *s = stagnation{} }
