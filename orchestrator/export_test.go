package orchestrator

import "github.com/convene-go/convene/orchestrator/engine"

// CheckJSON is checkJSON for tests.
var CheckJSON = checkJSON

// DriverOf is the driver of an engine, for tests.
func DriverOf(e *Engine) engine.Driver { return e.driver }

// RunOf is a run of that ID, which need not be there, for tests.
func RunOf(e *Engine, id string) *Run { return &Run{e, id} }
