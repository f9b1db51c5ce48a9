package orchestrator

import "github.com/convene-go/convene/orchestrator/agent"

// Local returns an engine in this process that keeps no log: for programs and tests that run
// a flow and end. It is NewLocal with only Agents, whose error is that of each run that is
// started. It needs no Close if the program waits for its runs, as Flow.Run does.
func Local(agents agent.Roster) *Engine {
	e, err := NewLocal(Config{Agents: agents})
	if err != nil {
		e, _ = NewLocal(Config{}) // a Config without anything has no faults
		e.fault = err
	}
	return e
}
