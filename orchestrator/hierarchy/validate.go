package hierarchy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/routing"
)

// ErrCycle says that departments depend on each other in a circle. The error's
// text lists them from the smallest ID on (HX5).
var ErrCycle = routing.ErrCycle

// faults collects what is wrong with a configuration.
type faults struct{ errs []error }

func (f *faults) add(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// upTo adds a fault if x is outside of [0, high] or not a number.
func (f *faults) upTo(field string, x *float64, high float64) {
	if x != nil && !(*x >= 0 && *x <= high) { // also refuses NaN
		f.add("%s is %v, want 0 to %v", field, *x, high)
	}
}

func (f *faults) notNegative(field string, n int64) {
	if n < 0 {
		f.add("%s is %d, want 0 or more", field, n)
	}
}

// validate returns every problem of c in one error, or nil (HC39, HX4, HX5).
func (c Config) validate() error {
	f := &faults{}
	if len(c.Departments) == 0 {
		f.add("Departments is empty")
	}
	for _, d := range c.Departments {
		d.validate(f)
	}
	c.validateIDs(f)
	c.validateNeeds(f)
	c.validateSettings(f)
	return errors.Join(f.errs...)
}

func (c Config) validateSettings(f *faults) {
	f.upTo("SupportingCut", c.SupportingCut, 1)
	if n := c.HeadOnlyScore; n != nil {
		f.upTo("HeadOnlyScore", new(float64(*n)), 100)
	}
	f.notNegative("SynthesisRounds", int64(c.SynthesisRounds))
	f.notNegative("Limits.ParallelDepartments", int64(c.Limits.ParallelDepartments))
	f.notNegative("Limits.ParallelSpecialists", int64(c.Limits.ParallelSpecialists))
	f.notNegative("Limits.Calls", c.Limits.Calls)
	f.notNegative("Limits.Cost", int64(c.Limits.Cost))
	f.notNegative("Limits.PromptBytes", int64(c.Limits.PromptBytes))
	f.notNegative("Limits.QuoteBytes", int64(c.Limits.QuoteBytes))
	if len(c.Rules.Skills) > 0 {
		f.add("Rules.Skills is set, but skills are those of the departments' agents")
	}
	if err := c.Rules.Validate(); err != nil {
		f.add("Rules: %w", err)
	}
	if slices.Contains(c.Hooks.Agents, "") {
		f.add("Hooks.Agents has an empty name")
	}
	if c.Consistency != "" && c.Hooks.Consistency != nil {
		f.add("Consistency and Hooks.Consistency are both set")
	}
	if c.ResolveConflicts && c.Hooks.Resolve != nil {
		f.add("ResolveConflicts and Hooks.Resolve are both set")
	}
	for i, check := range c.Hooks.Validate {
		if check == nil {
			f.add("Hooks.Validate[%d] is nil", i)
		}
	}
}

// validateIDs finds names that stand for two things.
func (c Config) validateIDs(f *faults) {
	departments, agents, keys := map[string]bool{}, map[string]string{}, map[string]string{}
	if c.Master != "" {
		keys[resultKey] = "the master's result"
	}
	for _, d := range c.Departments {
		if departments[d.ID] {
			f.add("department %q: ID is there twice", d.ID)
		}
		departments[d.ID] = true
		key := d.withDefaults().OutputKey
		if owner, taken := keys[key]; taken {
			f.add("department %q: OutputKey %q is taken by %s", d.ID, key, owner)
		}
		keys[key] = fmt.Sprintf("department %q", d.ID)
		if owner, taken := agents[d.Head]; taken && d.Head != "" {
			f.add("department %q: Head %q belongs to department %q already", d.ID, d.Head, owner)
		}
		agents[d.Head] = d.ID
	}
	seen := map[string]bool{}
	for _, d := range c.Departments {
		for _, a := range d.Agents {
			switch {
			case seen[a.ID] && a.ID == d.Head:
				f.add("department %q: agent %q: ID is there twice: two heads", d.ID, a.ID)
			case seen[a.ID], agents[a.ID] != "" && agents[a.ID] != d.ID:
				f.add("department %q: agent %q: ID is there twice", d.ID, a.ID)
			}
			seen[a.ID] = true
		}
	}
}

func (c Config) validateNeeds(f *faults) {
	var ids []string
	for _, d := range c.Departments {
		ids = append(ids, d.ID)
	}
	for _, d := range c.Departments {
		for _, need := range d.DependsOn {
			if need != d.ID && !slices.Contains(ids, need) {
				f.add("department %q: DependsOn names %q, which is no department", d.ID, need)
			}
			if need == d.ID {
				f.add("department %q: DependsOn names itself", d.ID)
			}
		}
	}
	if _, err := routing.Waves(ids, c.needs()); errors.Is(err, routing.ErrCycle) {
		f.errs = append(f.errs, err)
	}
}

func (d Department) validate(f *faults) {
	at := func(field string) string { return fmt.Sprintf("department %q: %s", d.ID, field) }
	target := routing.Target{ID: d.ID, Priority: d.Priority, Base: d.Base, Keywords: d.Keywords}
	if err := target.Validate(); err != nil {
		f.add("department %q: %w", d.ID, err)
	}
	if d.Head == "" {
		f.add("%s is empty", at("Head"))
	}
	f.upTo(at("MinQuality"), d.MinQuality, 100)
	f.upTo(at("Gate"), d.Gate, 100)
	if n := d.MaxRetries; n != nil {
		f.notNegative(at("MaxRetries"), int64(*n))
	}
	for _, a := range d.Agents {
		a.validate(f, d)
	}
}

func (a Agent) validate(f *faults, d Department) {
	at := func(field string) string { return fmt.Sprintf("department %q: agent %q: %s", d.ID, a.ID, field) }
	if a.ID == "" {
		f.add("%s is empty", at("ID"))
	}
	if a.Inactive && a.ID == d.Head {
		f.add("%s: the head is not active", at("Inactive"))
	}
	if err := (routing.Rules{Skills: a.Skills}).Validate(); err != nil {
		f.add("department %q: agent %q: %w", d.ID, a.ID, err)
	}
	f.upTo(at("SuccessRate"), a.SuccessRate, 100)
	f.upTo(at("PassingThreshold"), a.PassingThreshold, 100)
	f.upTo(at("Temperature"), a.Temperature, 2)
	if n := a.MaxRetries; n != nil {
		f.notNegative(at("MaxRetries"), int64(*n))
	}
	if a.Timeout < 0 {
		f.add("%s is %v, want 0 or more", at("Timeout"), a.Timeout)
	}
}
