package research

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/convene-go/convene/grading"
)

// Config is how a team works. The zero value is the default. New copies it.
type Config struct {
	Name          string        // of the flow; "": "research"
	Planner       string        // the agents' names; "": "planner"
	Supervisor    string        // "": "supervisor"
	Strategist    string        // an agent that may name unnecessary workers (RC34); "": none, the optimiser alone
	Merger        string        // an agent that makes one text of the writers' (R113); "": none, they are put together
	MaxIterations int           // at least 1; 0: 3 (R29)
	Attempts      int           // of a worker, at least 1; 0: 3 (R68)
	BackoffBase   time.Duration // before the second attempt; 0: 2 s (R69)
	BackoffFactor float64       // of each further wait, at least 1; 0: 2 (R69)
	StepLimit     int           // workers of a step at once; 0: all

	// Weights of the facets. nil: grading.DefaultWeights (RC13).
	Weights *grading.Weights

	// LastOnForce returns the last article of a run that ran out of iterations, money or
	// time, instead of the best one (RC29).
	LastOnForce bool

	// WarnInfeasible goes on with a plan that cannot meet budget or time, with a warning,
	// instead of failing before anything is spent (RC36).
	WarnInfeasible bool

	// Admit may refuse a brief that is valid: by its topic, or because there is no
	// capacity (RC32). It is a pure function. nil: none is refused.
	Admit func(b Brief) error

	// Prompts replaces the prompts of the package, by file name ("plan.tmpl"). A file
	// that is not there is the package's. It is read at New only.
	Prompts fs.FS
}

// withDefaults returns a copy of c.
func (c Config) withDefaults() Config {
	c.Name = or(c.Name, "research")
	c.Planner = or(c.Planner, "planner")
	c.Supervisor = or(c.Supervisor, "supervisor")
	c.MaxIterations = or(c.MaxIterations, 3)
	c.Attempts = or(c.Attempts, 3)
	c.BackoffBase = or(c.BackoffBase, 2*time.Second)
	c.BackoffFactor = or(c.BackoffFactor, 2)
	weights := grading.DefaultWeights
	if c.Weights != nil {
		weights = *c.Weights
	}
	c.Weights = &weights
	return c
}

// validate returns every fault of c joined into one error, or nil (RX22).
func (c Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.MaxIterations < 0 {
		bad("MaxIterations is %d, want 1 or more", c.MaxIterations)
	}
	if c.Attempts < 0 {
		bad("Attempts is %d, want 1 or more", c.Attempts)
	}
	if c.BackoffBase < 0 {
		bad("BackoffBase is %v, want 0 or more", c.BackoffBase)
	}
	if f := c.BackoffFactor; f != 0 && !(f >= 1) || math.IsInf(f, 0) {
		bad("BackoffFactor is %v, want 1 or more", f)
	}
	if c.StepLimit < 0 {
		bad("StepLimit is %d, want 0 or more", c.StepLimit)
	}
	if c.Weights != nil {
		if _, err := grading.Overall(grading.Facets{}, *c.Weights); err != nil {
			bad("Weights: %w", err)
		}
	}
	return errors.Join(errs...)
}

// agents returns the names of all agents that a run may call, sorted, each once.
func (c Config) agents(reg Registry) []string {
	var names []string
	for _, name := range []string{c.Planner, c.Supervisor, c.Strategist, c.Merger} {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, w := range reg {
		names = append(names, w.Agent)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
