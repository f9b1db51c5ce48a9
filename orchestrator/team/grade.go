package team

import "github.com/convene-go/convene/orchestrator"

// Grade asks a Grader for a grade, as [Rule] does, and once more if the Grader fails. Agents may
// stand behind a Grader: its error is no fault of the rule, but failed, and says why there is no
// grade. A panic, and a grade that check refuses, are faults of the rule: err. So is an error
// that [Ends] the run.
func Grade[G any](r *Run, c *orchestrator.Context, who, name string, ask func() (G, error), check func(G) error) (grade G, failed, err error) { //nolint:revive // the run and its Context come first in all functions of this kind
	once := func() (g G, err error) {
		if g, failed = ask(); failed == nil {
			return g, check(g)
		}
		var none G
		return none, nil
	}
	for range 2 {
		if grade, err = Rule(r, c, who, name, once); err != nil || failed == nil {
			return grade, failed, err
		}
		if Ends(failed) {
			return grade, failed, failed
		}
	}
	return grade, failed, nil
}
