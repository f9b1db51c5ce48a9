package flowtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Where a run is killed, a call may or may not have been made that it gives up: what must
// be the same is the rest.
func TestWhatIsComparedOfWhatWasSpent(t *testing.T) {
	paid := providers.Usage{Calls: 3, Cost: 7}
	ended := engine.CalledData{Response: &agent.Response{Data: agent.JSON(engine.End{}), Usage: paid}}
	canceled := engine.CalledData{Err: &agent.Error{Codes: []agent.Code{engine.ErrCanceled}, Usage: paid}}
	for name, tt := range map[string]struct {
		data  engine.CalledData
		child *engine.CalledData // the only call of a child, whose end data is
		want  providers.Usage
	}{
		"an answer":                      {engine.CalledData{Response: &agent.Response{Text: "canceled", Usage: paid}}, nil, paid},
		"a failure":                      {engine.CalledData{Err: &agent.Error{Message: "bad", Usage: paid}}, nil, paid},
		"a call that was given up":       {canceled, nil, providers.Usage{}},
		"a child":                        {ended, &engine.CalledData{Response: &agent.Response{Usage: paid}}, paid},
		"a child that has given up that": {ended, &canceled, providers.Usage{}},
	} {
		s := storeOf(t, runlog.Record{Run: caseID, Seq: 1, Kind: runlog.Called, Data: agent.JSON(tt.data)})
		if tt.child != nil {
			id := caseID + "/0"
			require.NoError(t, s.Append(t.Context(), []runlog.Record{
				{Run: id, Kind: runlog.Started}, {Run: id, Seq: 1, Kind: runlog.Called, Data: agent.JSON(tt.child)},
			}))
		}
		assert.Equal(t, used{all: paid, sure: tt.want}, usedBy(t, s, caseID), name)
	}
}
