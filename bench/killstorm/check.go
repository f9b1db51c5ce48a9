package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// check checks the logs and notes after the storm, and counts them.
func (s *storm) check(ctx context.Context) error {
	s.records = s.ledger.records()
	for _, n := range s.ledger.notes {
		if n.Kind == noteStarted && len(s.ledger.logs[n.Run]) == 0 {
			return fmt.Errorf("promise broken: Start of %s returned, and there is no record of it", n.Run)
		}
		if n.Kind == noteAnswered {
			key := n.Run + " " + n.Key
			s.accepted[key] = append(s.accepted[key], n.By)
		}
	}
	if err := s.checkCalls(); err != nil {
		return err
	}
	for id, log := range s.ledger.logs {
		if len(log) == 0 {
			continue // it was killed before the start was on record
		}
		s.runs++
		if err := s.checkRun(ctx, id, log); err != nil {
			return fmt.Errorf("promise broken: run %s: %w", id, err)
		}
	}
	s.countTakeovers()
	return s.checkAnswers()
}

// checkRun checks how one run ended.
func (s *storm) checkRun(ctx context.Context, id string, log []runlog.Record) error {
	run, err := s.hosts[0].Open(ctx, id)
	if err != nil {
		return err
	}
	info, err := run.Info(ctx)
	if err != nil {
		return err
	}
	var start struct {
		Data   json.RawMessage     `json:"data"`
		Budget orchestrator.Budget `json:"budget"`
	}
	if err := json.Unmarshal(log[0].Data, &start); err != nil {
		return err
	}
	if info.Status != orchestrator.Completed {
		return fmt.Errorf("it ended %s: %s", info.Status, info.Err)
	}
	switch info.Flow {
	case flowPlans:
		return s.checkPlan(ctx, run, start.Data, info.Spent)
	case flowSpends:
		return s.checkPurse(ctx, run, start.Data, start.Budget, info.Spent)
	}
	return nil
}

// checkPlan checks the result of a run that carried out a plan, and how many calls it
// is charged.
func (s *storm) checkPlan(ctx context.Context, run *orchestrator.Run, input json.RawMessage, charged providers.Usage) error {
	var in planned
	if err := json.Unmarshal(input, &in); err != nil {
		return err
	}
	out, err := plans().Result(ctx, run)
	if err != nil {
		return err
	}
	p := planOf(in.Seed, in.Depth)
	if want := p.expect("", in.Depth); out.Text != want {
		return fmt.Errorf("its result is %q, want %q", out.Text, want)
	}
	if want := p.calls(in.Depth); charged.Calls != want {
		return fmt.Errorf("it used %d calls, want %d", charged.Calls, want)
	}
	return s.checkReceptions(run.ID(), out)
}

// checkPurse checks what a run that spends is charged.
func (s *storm) checkPurse(ctx context.Context, run *orchestrator.Run, input json.RawMessage, limit orchestrator.Budget, charged providers.Usage) error {
	out, err := spends().Result(ctx, run)
	if err != nil {
		return err
	}
	if out.Calls != charged.Calls || out.Cost != charged.Cost {
		return fmt.Errorf("its calls used %d and %d, it is charged %d and %d", out.Calls, out.Cost, charged.Calls, charged.Cost)
	}
	var in purse
	if err := json.Unmarshal(input, &in); err != nil {
		return err
	}
	return s.checkBudget(run.ID(), in, limit, charged)
}

// checkBudget checks what a run and its children used: what is charged, and what
// was really spent, calls that a kill cut off included.
func (s *storm) checkBudget(id string, in purse, limit orchestrator.Budget, charged providers.Usage) error {
	var calls int64
	var cost providers.NanoUSD
	for _, n := range s.ledger.notes {
		if n.Kind == noteBegin && (n.Run == id || strings.HasPrefix(n.Run, id+"/")) && !s.isLate(n) {
			calls++
			cost += n.Cost
		}
	}
	over := providers.NanoUSD(0)
	if !in.Estimated { // one call of unknown cost may be running
		cost, over = charged.Cost, price
	}
	if limit.Calls > 0 && max(calls, charged.Calls) > limit.Calls {
		return fmt.Errorf("%d calls are charged and %d were made under a limit of %d", charged.Calls, calls, limit.Calls)
	}
	if limit.Cost > 0 && max(cost, charged.Cost) > limit.Cost+over {
		return fmt.Errorf("%d nanoUSD are charged and %d were spent under a limit of %d", charged.Cost, cost, limit.Cost)
	}
	return nil
}

// isLate reports whether the process of a call had lost the run: then the call does not
// count.
func (s *storm) isLate(n note) bool {
	if s.fleet == nil {
		return false
	}
	owner := ""
	for _, rec := range s.ledger.logs[n.Run] {
		if d := data(rec); d.Owner != "" && !rec.At.After(n.At) {
			owner = d.Owner
		}
	}
	return owner != ownerOf(s.ledger.logs[fmt.Sprintf("hello-%d", n.Gen)])
}

// callers returns, for each call that agents noted, the processes that made it. It counts
// calls in s.unseen that were made again although their agent had answered.
func (s *storm) callers() map[string]map[int]bool {
	made := map[string]map[int]bool{}
	answered := map[string]bool{} // calls whose agent returned an answer
	for _, n := range s.ledger.notes {
		if n.Kind == noteEnd {
			answered[n.Key] = true
		}
		if n.Kind != noteBegin {
			continue
		}
		if made[n.Key] == nil {
			made[n.Key] = map[int]bool{}
		}
		if made[n.Key][n.Gen] = true; len(made[n.Key]) > 1 && answered[n.Key] {
			s.unseen++
			answered[n.Key] = false // counted
		}
	}
	return made
}

// checkCalls compares the calls on record with those that agents noted.
func (s *storm) checkCalls() error {
	made := s.callers()
	recorded := map[string]bool{}
	for id, log := range s.ledger.logs {
		for _, rec := range log {
			if rec.Kind != runlog.Called || rec.Name == flowPlans || rec.Name == flowSpends {
				continue // the last two: it is a child's result
			}
			key := keyOf(rec)
			if recorded[key] {
				return fmt.Errorf("promise broken: call %s is on record twice", key)
			}
			recorded[key] = true
			if made[key] == nil {
				return fmt.Errorf("promise broken: call %s is on record, and no agent was called for it", key)
			}
		}
		if len(log) > 0 && !ended(log) {
			return fmt.Errorf("%w: %s", errNever, id)
		}
	}
	for key, by := range made {
		s.calls += len(by)
		s.twice += len(by) - 1
		if log := s.ledger.logs[key[:strings.LastIndexByte(key, '/')]]; !recorded[key] && log[0].Name == flowPlans {
			return fmt.Errorf("promise broken: call %s was made, and is not on record though its run has ended", key)
		}
	}
	return nil
}

// checkReceptions checks that the flow got the answers that are on record.
func (s *storm) checkReceptions(id string, out made) error {
	for _, rec := range s.ledger.logs[id] {
		if rec.Kind != runlog.Answered {
			continue
		}
		var got reception
		if err := json.Unmarshal(rec.Data, &got); err != nil {
			return err
		}
		if out.By[rec.Name] != got.By {
			return fmt.Errorf("the question %s is answered by %q on record, and by %q in the result", rec.Name, got.By, out.By[rec.Name])
		}
		accepted := s.accepted[id+" "+rec.Name]
		if len(accepted) > 0 && !slices.Contains(accepted, got.By) {
			return fmt.Errorf("the answer of %q to %s is on record, and that of %q was accepted", got.By, rec.Name, accepted)
		}
	}
	return nil
}

// checkAnswers checks that at most one answer to a question was accepted.
func (s *storm) checkAnswers() error {
	for key, by := range s.accepted {
		s.answers += len(by)
		if len(by) > 1 {
			return fmt.Errorf("promise broken: answers of %q to %s were all accepted", by, key)
		}
	}
	return nil
}
