package blackboard

import (
	"errors"
	"fmt"
	"math"
)

// Suggest is an [Action] of an ACTIVE worker: it keeps tasks that it suggests until the
// director has reviewed them.
type Suggest struct {
	Suggestions []Suggestion `json:"suggestions"`
}

func (Suggest) kind() string { return "suggest" }

func (s Suggest) apply(e *Editor, c Change) error {
	if err := c.allow([]Role{RoleWorker}); err != nil {
		return err
	}
	t, err := e.live(c.Task)
	switch {
	case err != nil:
		return err
	case t.Status != Active:
		return fmt.Errorf("it is %s, want ACTIVE", t.Status)
	case len(s.Suggestions) == 0:
		return errors.New("suggestions is empty")
	}
	for i := range s.Suggestions {
		if risk := s.Suggestions[i].Risk; risk != nil && (math.IsNaN(*risk) || math.IsInf(*risk, 0)) {
			return fmt.Errorf("suggestions[%d]: risk is %v, want a number", i, *risk)
		}
	}
	t.Suggested, t.UpdatedAt = append(t.Suggested, s.Suggestions...), c.At
	return nil
}

// DropSuggestions is an [Action] of the director: it has reviewed the first of the
// suggestions of a task, final or not.
type DropSuggestions struct {
	Count int `json:"count"` // 1 or more
}

func (DropSuggestions) kind() string { return "drop_suggestions" }

func (s DropSuggestions) apply(e *Editor, c Change) error {
	if err := c.allow(director); err != nil {
		return err
	}
	t, err := e.task(c.Task)
	if err != nil {
		return err
	}
	if s.Count < 1 || s.Count > len(t.Suggested) {
		return fmt.Errorf("count is %d, want 1 to %d", s.Count, len(t.Suggested))
	}
	t.Suggested, t.UpdatedAt = t.Suggested[s.Count:], c.At
	return nil
}
