package blackboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
)

// AddInsight is an [Action] of every role but the Guardian: it appends an insight. The
// error is [ErrDuplicate] if the ID is taken, or if the same task has already given the
// same topic and summary.
type AddInsight struct {
	Insight
}

func (AddInsight) kind() string { return "add_insight" }

func (a AddInsight) apply(e *Editor, c Change) error {
	if err := c.checkRole([]Role{RoleDirector, RoleWorker, RoleStrategist}); err != nil {
		return err
	}
	insight := a.Insight
	if blank(insight.Summary) {
		return errors.New("summary is empty")
	}
	if err := e.checkRef(insight.SourceTask); err != nil {
		return fmt.Errorf("sourceTask %w", err)
	}
	if e.known["insight "+insight.ID] || e.known[insight.contentKey()] {
		return ErrDuplicate
	}
	if insight.ID == "" {
		insight.ID = e.freeID("insight ", "i", len(e.b.Insights))
	}
	insight.At = c.At.Truncate(time.Second)
	e.know(insight)
	e.b.Insights = append(e.b.Insights, insight)
	return nil
}

// contentKey returns a key of source, topic and summary: duplicates have the same.
func (i Insight) contentKey() string {
	return fmt.Sprintf("insight of %q: %q %q", i.SourceTask, i.Topic, i.Summary)
}

func (e *Editor) know(i Insight) {
	e.known["insight "+i.ID] = true
	e.known[i.contentKey()] = true
}

// freeID returns the letter and the first number above n that are not taken together.
func (e *Editor) freeID(what, letter string, n int) string {
	for {
		n++
		if id := fmt.Sprint(letter, n); !e.known[what+id] {
			return id
		}
	}
}

// AddDecision is an [Action] of the director: it appends a decision to the design log. No
// entry is ever changed; a later one can say that it replaces it.
type AddDecision struct {
	Decision
}

func (AddDecision) kind() string { return "add_decision" }

func (a AddDecision) apply(e *Editor, c Change) error {
	var faults faultList
	d := a.Decision
	if err := c.checkRole(director); err != nil {
		return err
	}
	if blank(d.Area) || blank(d.Summary) {
		faults.add("area or summary is empty")
	}
	if e.known["decision "+d.ID] {
		faults.add("id %q is taken: the design log is append-only", d.ID)
	}
	faults = append(faults, e.scopeFaults("", d)...)
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	if d.ID == "" {
		d.ID = e.freeID("decision ", "d", len(e.b.DesignLog))
	}
	d.At = c.At.Truncate(time.Second)
	e.known["decision "+d.ID] = true
	e.b.DesignLog = append(e.b.DesignLog, d)
	return nil
}

// Judge is an [Action] of the strategist: it notes that the work of an AWAITING_QA task has
// passed its review. The task stays AWAITING_QA until its work is merged.
type Judge struct {
	QA QA `json:"qa"` // result of the review; Passed is true
}

func (Judge) kind() string { return "judge" }

func (j Judge) apply(e *Editor, c Change) error {
	if err := c.checkRole([]Role{RoleStrategist}); err != nil {
		return err
	}
	t, err := e.live(c.Task)
	switch {
	case err != nil:
		return err
	case t.Status != AwaitingQA:
		return fmt.Errorf("it is %s, want AWAITING_QA", t.Status)
	case !j.QA.Passed:
		return errors.New("qa: passed is false: that is the event fail")
	}
	t.QA, t.UpdatedAt = &j.QA, c.At
	return nil
}

// SetSpec is an [Action] of the director: it sets the requirements of one area.
type SetSpec struct {
	Area  string          `json:"area"`  // never blank
	Value json.RawMessage `json:"value"` // valid JSON; it replaces the old value
}

func (SetSpec) kind() string { return "set_spec" }

func (s SetSpec) apply(e *Editor, c Change) error {
	if err := c.checkRole(director); err != nil {
		return err
	}
	if blank(s.Area) {
		return errors.New("area is empty")
	}
	if !json.Valid(s.Value) {
		return errors.New("value is no JSON")
	}
	e.b.Spec[s.Area] = s.Value
	return nil
}

// Remember is an [Action] that appends messages to the memory of a task. The director may
// do so while the task is not final, the worker and the Guardian while it is ACTIVE.
type Remember struct {
	// Messages has at least one entry. From the Guardian it is exactly one system message
	// with a text; from the others none is a system message.
	Messages []providers.Message `json:"messages"`

	// Anew is set if Messages replace the memory, because the conversation was made shorter.
	// System messages of the memory may be among them. The Guardian does not set it.
	Anew bool `json:"anew,omitempty"`
}

func (Remember) kind() string { return "remember" }

func (r Remember) apply(e *Editor, c Change) error {
	if err := c.checkRole([]Role{RoleDirector, RoleWorker, RoleGuardian}); err != nil {
		return err
	}
	t, err := e.live(c.Task)
	if err != nil {
		return err
	}
	if t.Status != Active && c.By != RoleDirector {
		return fmt.Errorf("it is %s, want ACTIVE", t.Status)
	}
	memory := e.b.Memories[t.ID]
	err = errors.Join(messageFaults(r.said(memory))...)
	if c.By == RoleGuardian {
		err = oneSystem(r.Messages)
	}
	if c.By == RoleGuardian && r.Anew {
		err = errors.New("the memory cannot be replaced by the Guardian")
	}
	if err != nil {
		return err
	}
	if c.By == RoleGuardian {
		e.b.Guardian.LastNudge = c.At
	}
	if r.Anew {
		memory = nil
	}
	e.b.Memories[t.ID] = append(memory, r.Messages...)
	t.UpdatedAt = c.At
	return nil
}

// said are the messages that the one who changes the board answers for: of those that
// replace a memory not its system messages.
func (r Remember) said(memory []providers.Message) []providers.Message {
	if !r.Anew {
		return r.Messages
	}
	return slices.DeleteFunc(slices.Clone(r.Messages), func(m providers.Message) bool {
		return m.Role == providers.System && slices.ContainsFunc(memory, func(old providers.Message) bool {
			return old.Role == providers.System && old.Text == m.Text
		})
	})
}

// SetWatch is an [Action] of the Guardian: it replaces what the Guardian has seen of an
// ACTIVE task.
type SetWatch struct {
	Watch
	Reviewed bool `json:"reviewed,omitempty"` // the Guardian has just checked the task
}

func (SetWatch) kind() string { return "set_watch" }

func (s SetWatch) apply(e *Editor, c Change) error {
	if err := c.checkRole(guardian); err != nil {
		return err
	}
	t, err := e.live(c.Task)
	if err != nil {
		return err
	}
	if t.Status != Active {
		return fmt.Errorf("it is %s, want ACTIVE", t.Status)
	}
	if err := errors.Join(s.faults()...); err != nil {
		return err
	}
	e.b.Guardian.Watches[t.ID] = s.Watch
	if s.Reviewed {
		e.b.Guardian.LastReviewed = t.ID
	}
	return nil
}

// Spend is an [Action] of every role: it adds usage to that of the run. If the change names
// a task, which may be final, it also adds it to that of the task.
type Spend struct {
	Usage providers.Usage `json:"usage"` // no part of it is below 0
}

func (Spend) kind() string { return "spend" }

func (s Spend) apply(e *Editor, c Change) error {
	if err := c.checkRole(everybody); err != nil {
		return err
	}
	if s.Usage.Negative() {
		return errors.New("usage is below 0")
	}
	if c.Task != "" {
		t, err := e.task(c.Task)
		if err != nil {
			return err
		}
		t.Spent = t.Spent.Add(s.Usage)
		t.UpdatedAt = c.At
	}
	e.b.Spent = e.b.Spent.Add(s.Usage)
	return nil
}

// Steer is an [Action] that changes the strategy; [StrategyTable] says which roles may.
type Steer struct {
	Event  StrategyEvent `json:"event"`            // event of the [StrategyTable]
	Reason string        `json:"reason,omitempty"` // kept in the log of changes only
}

func (Steer) kind() string { return "steer" }

func (s Steer) apply(e *Editor, c Change) error {
	to, err := strategyTable.Check(e.b.Strategy, s.Event, c.By)
	if err != nil {
		return err
	}
	e.b.Strategy = to
	return nil
}
