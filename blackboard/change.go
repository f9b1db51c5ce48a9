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
	// ErrTerminal says that a task is COMPLETE or ABANDONED and cannot change.
	ErrTerminal = errors.New("the task is final")

	// ErrDuplicate says that an insight is on the board already.
	ErrDuplicate = errors.New("it is on the board already")

	// ErrNoTask says that no task has that ID.
	ErrNoTask = errors.New("no such task")
)

// Change is one change of a board as a value. Its JSON form names the action in "kind".
type Change struct {
	By   Role      // role of the one who makes it
	At   time.Time // years 0 to 9999
	Task string    // ID of the task that it is about; "": about none or about several
	Do   Action    // the action; nil is refused
}

// Action is what a [Change] does. Only types of this package implement it. Their comments
// begin with "is an [Action]", and say which roles may take them.
type Action interface {
	kind() string

	// apply checks the change, then changes the graph, then the board. A graph that
	// returns an error has not changed, so a refused change has changed nothing.
	apply(e *Editor, c Change) error
}

// actions has the decoder of each kind of action.
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
	if err := decodeStrict(data, &a); err != nil {
		return nil, err
	}
	return a, nil
}

// decodeStrict decodes JSON into v. A field that v does not have is an error.
func decodeStrict(data []byte, v any) error {
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
	if err := decodeStrict(data, &raw); err != nil {
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

// checkRole returns an error unless one of roles makes the change.
func (c Change) checkRole(roles []Role) error {
	if !slices.Contains(roles, c.By) {
		return fmt.Errorf("not allowed for %q, only for %q", c.By, roles)
	}
	return nil
}
