package blackboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

var (
	// ErrTerminal says that a task is COMPLETE or ABANDONED and cannot change any more.
	ErrTerminal = errors.New("the task is final")

	// ErrDuplicate says that an insight is on the board already.
	ErrDuplicate = errors.New("it is on the board already")

	// ErrNoTask says that there is no task of that ID.
	ErrNoTask = errors.New("no such task")
)

// Change is one change of a board, as a value: who makes it, when, to which task, and
// what it does. Its JSON form has the name of the action in "kind".
type Change struct {
	By   Role
	At   time.Time
	Task string // "" where the action is for no single task
	Do   Action
}

// Action is what a [Change] does. Only types of this package implement it; their
// comments say so.
type Action interface {
	kind() string

	// apply checks first. Then it changes the graph, which changes nothing if it fails,
	// and then the board.
	apply(e *Editor, c Change) error
}

// actions reads the JSON form of each kind of action.
var actions = map[string]func(json.RawMessage) (Action, error){
	AddTasks{}.kind():        decode[AddTasks],
	Split{}.kind():           decode[Split],
	Edit{}.kind():            decode[Edit],
	Refine{}.kind():          decode[Refine],
	Move{}.kind():            decode[Move],
	Reblock{}.kind():         decode[Reblock],
	Forgive{}.kind():         decode[Forgive],
	AddInsight{}.kind():      decode[AddInsight],
	AddDecision{}.kind():     decode[AddDecision],
	SetSpec{}.kind():         decode[SetSpec],
	Remember{}.kind():        decode[Remember],
	SetWatch{}.kind():        decode[SetWatch],
	Judge{}.kind():           decode[Judge],
	Suggest{}.kind():         decode[Suggest],
	DropSuggestions{}.kind(): decode[DropSuggestions],
	Spend{}.kind():           decode[Spend],
	Steer{}.kind():           decode[Steer],
}

func decode[A Action](data json.RawMessage) (Action, error) {
	var a A
	if err := strict(data, &a); err != nil {
		return nil, err
	}
	return a, nil
}

// strict decodes JSON whose fields must exist in v.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// changeJSON is the JSON form of a Change.
type changeJSON struct {
	Kind string          `json:"kind"`
	By   Role            `json:"by"`
	At   time.Time       `json:"at,omitzero"`
	Task string          `json:"task,omitempty"`
	Do   json.RawMessage `json:"do"`
}

// MarshalJSON implements [json.Marshaler].
func (c Change) MarshalJSON() ([]byte, error) {
	if c.Do == nil {
		return nil, errors.New("blackboard: a change without an action")
	}
	do, err := json.Marshal(c.Do)
	if err != nil {
		return nil, err
	}
	return json.Marshal(changeJSON{Kind: c.Do.kind(), By: c.By, At: c.At, Task: c.Task, Do: do})
}

// UnmarshalJSON implements [json.Unmarshaler]. Unknown kinds and unknown fields are
// errors.
func (c *Change) UnmarshalJSON(data []byte) error {
	var raw changeJSON
	if err := strict(data, &raw); err != nil {
		return fmt.Errorf("blackboard: change: %w", err)
	}
	read, ok := actions[raw.Kind]
	if !ok {
		return fmt.Errorf("blackboard: kind of a change is %q, which is unknown", raw.Kind)
	}
	do, err := read(raw.Do)
	if err != nil {
		return fmt.Errorf("blackboard: change %q: %w", raw.Kind, err)
	}
	*c = Change{By: raw.By, At: raw.At, Task: raw.Task, Do: do}
	return nil
}

// allow returns an error unless one of roles makes the change.
func (c Change) allow(roles []Role) error {
	if !slices.Contains(roles, c.By) {
		return fmt.Errorf("not allowed for %q, only for %q", c.By, roles)
	}
	return nil
}
