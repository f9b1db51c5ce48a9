package orchestrator

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Info is a run seen from outside.
type Info struct {
	ID            string                     `json:"id"`
	Flow          string                     `json:"flow"`
	Version       int                        `json:"version,omitempty"`
	Status        Status                     `json:"status"`
	Outcome       *Outcome                   `json:"outcome,omitempty"` // of a run that ended, if its Out has one
	Err           string                     `json:"error,omitempty"`   // of a run that ended with one
	Labels        map[string]string          `json:"labels,omitempty"`
	Questions     []Question                 `json:"questions,omitempty"`     // that wait for an answer
	Spent         providers.Usage            `json:"spent,omitzero"`          // calls under way not included
	ByAgent       map[string]providers.Usage `json:"byAgent,omitempty"`       // the same by agent; a list of runs has it for open ones alone
	ContinuedFrom string                     `json:"continuedFrom,omitempty"` // see StartOptions
	Parent        string                     `json:"parent,omitempty"`        // of a child: the run that started it
	Started       time.Time                  `json:"started"`
	Changed       time.Time                  `json:"changed"`
}

// summary is the fold of a log into an Info.
type summary struct {
	i    Info
	open []engine.Ask // questions
}

func newSummary() *summary { return &summary{i: Info{ByAgent: map[string]providers.Usage{}}} }

func (s *summary) info() Info {
	i := s.i
	for _, a := range s.open {
		i.Questions = append(i.Questions, a.Question)
	}
	return i
}

// add takes in what rec tells.
func (s *summary) add(rec blackboard.Record) error {
	i := &s.i
	i.Changed = rec.At
	var err error
	switch rec.Kind {
	case blackboard.Started:
		var d engine.StartedData
		err = json.Unmarshal(rec.Data, &d)
		i.ID, i.Flow, i.Version, i.Started = rec.Run, rec.Name, d.Version, rec.At
		i.Labels, i.ContinuedFrom, i.Parent = d.Labels, d.ContinuedFrom, d.Parent
	case blackboard.Called:
		var d engine.CalledData
		err = json.Unmarshal(rec.Data, &d)
		i.Spent = i.Spent.Add(d.Usage())
		i.ByAgent[rec.Name] = i.ByAgent[rec.Name].Add(d.Usage())
	case blackboard.Asked:
		var a engine.Ask
		if err = json.Unmarshal(rec.Data, &a); err == nil && !slices.ContainsFunc(s.open, func(b engine.Ask) bool { return b.Key == a.Key }) {
			s.open = append(s.open, a)
		}
	case blackboard.Answered, blackboard.Withdrawn, blackboard.Expired:
		s.open = slices.DeleteFunc(s.open, func(a engine.Ask) bool { return a.Key == rec.Name })
	case blackboard.Ended:
		err = s.ended(rec)
	}
	if err != nil {
		return fmt.Errorf("orchestrator: log of run %q: record %d: %w", rec.Run, rec.Seq, err)
	}
	return nil
}

func (s *summary) ended(rec blackboard.Record) error {
	i := &s.i
	var end engine.End
	if err := json.Unmarshal(rec.Data, &end); err != nil {
		return err
	}
	i.Status, i.Spent = end.Status, end.Spent
	s.open = nil
	if end.Err != nil {
		i.Err = end.Err.Message
	}
	if end.Outcome != nil {
		i.Outcome = &Outcome{}
		return json.Unmarshal(end.Outcome, i.Outcome)
	}
	return nil
}
